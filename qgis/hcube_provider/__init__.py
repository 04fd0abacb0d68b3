"""The Processing provider of hcube for QGIS."""


def classFactory(iface):  # the name that QGIS calls
    from .plugin import Plugin

    return Plugin(iface)
