"""The page of tables and charts that shows a comparison."""
