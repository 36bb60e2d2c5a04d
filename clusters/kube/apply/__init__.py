"""Server-side apply and the bookkeeping of who owns which field.

`managed_fields.update` and `managed_fields.apply` are what the request chain calls; below them are the field
sets (`fieldset`), the types that say how values merge (`types`), and the operations on typed values.
"""
