"""What every experiment needs: its pictures, its trainings and its result page."""
