;; Declares a table of a million functions.
(table 1000000 funcref)
