"""Tables of embeddings in the files of other tools, each read by one reader."""

from keras_bct.tables.columns import Columns
from keras_bct.tables.numpy_file import read_vectors
from keras_bct.tables.table_file import ENDINGS, read_names, read_table

__all__ = ["ENDINGS", "Columns", "read_names", "read_table", "read_vectors"]
