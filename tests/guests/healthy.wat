;; Routes text to content and drops its marker `<x>`.
