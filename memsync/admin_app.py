from django.contrib.admin.apps import AdminConfig


class MemsyncAdminConfig(AdminConfig):
    default_site = "memsync.admin_site.MemsyncAdminSite"
