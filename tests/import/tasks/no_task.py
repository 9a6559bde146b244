Model = None
