"""GStreamer's RTSP server with the files and settings of its arguments; tells its port in a line when it is ready.

Arguments: a line of JSON with
  mounts   by path: a description of a pipeline (gst-launch), whose elements pay0, pay1 … are the media
  login    optional: { "method": "basic" | "digest", "user": …, "password": … }
  tls      optional: { "cert": PEM, "key": PEM }
  protocols optional: "udp" = only by UDP
"""

import json
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402


def auth_of(settings):
    login, tls = settings.get("login"), settings.get("tls")
    if login is None and tls is None:
        return None
    auth = GstRtspServer.RTSPAuth()
    if tls is not None:
        auth.set_tls_certificate(Gio.TlsCertificate.new_from_pem(tls["cert"] + tls["key"], -1))
    if login is None:
        return auth
    token = GstRtspServer.RTSPToken()
    token.set_string(GstRtspServer.RTSP_TOKEN_MEDIA_FACTORY_ROLE, "user")
    if login["method"] == "digest":
        auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
        auth.add_digest(login["user"], login["password"], token)
    else:
        auth.add_basic(GstRtspServer.RTSPAuth.make_basic(login["user"], login["password"]), token)
    return auth


def factory_of(pipeline, settings):
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(f"( {pipeline} )")
    if settings.get("protocols") == "udp":
        factory.set_protocols(GstRtsp.RTSPLowerTrans.UDP)
    if settings.get("login") is not None:
        permissions = GstRtspServer.RTSPPermissions()
        permissions.add_permission_for_role("user", "media.factory.access", True)
        permissions.add_permission_for_role("user", "media.factory.construct", True)
        factory.set_permissions(permissions)
    return factory


def main():
    settings = json.loads(sys.argv[1])
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service("0")
    auth = auth_of(settings)
    if auth is not None:
        server.set_auth(auth)
    for path, pipeline in settings["mounts"].items():
        server.get_mount_points().add_factory(path, factory_of(pipeline, settings))
    server.attach(None)
    print(json.dumps({"port": server.get_bound_port()}), flush=True)
    GLib.MainLoop().run()


main()
