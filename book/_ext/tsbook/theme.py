"""What the theme gets wrong on a page that must stand alone."""


def setup(app):
    pass
