"""Tables of embeddings in the files of other tools, each read by one reader."""

from keras_bct.tables.columns import Columns
from keras_bct.tables.table_file import ENDINGS, read_names, read_table

__all__ = ["ENDINGS", "Columns", "read_names", "read_table"]
