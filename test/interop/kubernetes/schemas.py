"""Cuts the schemas that test/support/kubernetes-stand-in.ts checks objects by out of Kubernetes' own OpenAPI document.
Usage: schemas.py SWAGGER_JSON > test/support/kubernetes-schemas.json; `build.sh` says where the document is."""
import json, sys

ROOTS = {
    "Service": "io.k8s.api.core.v1.Service",
    "Secret": "io.k8s.api.core.v1.Secret",
    "PersistentVolumeClaim": "io.k8s.api.core.v1.PersistentVolumeClaim",
    "PodTemplate": "io.k8s.api.core.v1.PodTemplate",
    "Pod": "io.k8s.api.core.v1.Pod",
    "DeleteOptions": "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    "Role": "io.k8s.api.rbac.v1.Role",
    "RoleBinding": "io.k8s.api.rbac.v1.RoleBinding",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
}
document = json.load(open(sys.argv[1]))
source = document["definitions"]
kept = {}


def take(name):
    if name in kept:
        return
    kept[name] = {}
    kept[name] = cut(source[name])
    # As strict decoding does: a field that is not known is an error.
    if "properties" in kept[name] and "additionalProperties" not in kept[name]:
        kept[name]["additionalProperties"] = False


def cut(node):
    if isinstance(node, list):
        return [cut(one) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[1]
        take(name)
        return {"$ref": "#/definitions/" + name}
    if node.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    out = {}
    for key, value in node.items():
        if key == "properties":
            out[key] = {name: cut(inner) for name, inner in value.items()}
        elif key in ("type", "items", "additionalProperties", "required", "enum"):
            out[key] = cut(value)
    return out


for root in ROOTS.values():
    take(root)
# A quantity may be written as a number too.
kept["io.k8s.apimachinery.pkg.api.resource.Quantity"] = {"type": ["string", "number"]}
json.dump(
    {"version": document["info"]["version"], "kinds": ROOTS, "definitions": dict(sorted(kept.items()))},
    sys.stdout,
    indent=1,
)
print()
