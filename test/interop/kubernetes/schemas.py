"""Cuts the schemas that test/support/kubernetes-stand-in.ts checks objects by out of Kubernetes' own OpenAPI document.
Usage: schemas.py SWAGGER_JSON [CRD_YAML...] > test/support/kubernetes-schemas.json; `build.sh` says where the document is. The
custom resources of the chart are in github.com/prometheus-operator/prometheus-operator@v0.80.1 (example/prometheus-operator-crd),
sigs.k8s.io/gateway-api@v1.2.1 (config/crd/standard), github.com/kedacore/keda/v2@v2.16.1 (config/crd/bases) and
istio.io/api@v1.24.3 (kubernetes), all of them Go modules (`go mod download -json MODULE`)."""
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
    "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "ServiceAccount": "io.k8s.api.core.v1.ServiceAccount",
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "StatefulSet": "io.k8s.api.apps.v1.StatefulSet",
    "Ingress": "io.k8s.api.networking.v1.Ingress",
    "HorizontalPodAutoscaler": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
}
# Kind and version of custom resources.
CUSTOM = {
    "ServiceMonitor": "v1",
    "PodMonitor": "v1",
    "PrometheusRule": "v1",
    "HTTPRoute": "v1",
    "ScaledObject": "v1alpha1",
    "Gateway": "v1",
    "VirtualService": "v1",
    "DestinationRule": "v1",
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


def custom(node):
    """The same for a schema of a custom resource, which has no references."""
    if not isinstance(node, dict):
        return {}
    if node.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    out = {key: node[key] for key in ("type", "required", "enum") if key in node}
    if "properties" in node:
        out["properties"] = {name: custom(inner) for name, inner in node["properties"].items()}
        out["additionalProperties"] = bool(node.get("x-kubernetes-preserve-unknown-fields"))
    elif isinstance(node.get("additionalProperties"), dict):
        out["additionalProperties"] = custom(node["additionalProperties"])
    if "items" in node:
        out["items"] = custom(node["items"])
    return out


for root in ROOTS.values():
    take(root)
for path in sys.argv[2:]:
    import yaml

    for resource in yaml.safe_load_all(open(path)):
        spec = (resource or {}).get("spec", {})
        kind = spec.get("names", {}).get("kind")
        for version in spec.get("versions", []):
            if CUSTOM.get(kind) != version["name"] or (kind == "Gateway" and spec["group"] != "networking.istio.io"):
                continue
            name = f"{spec['group']}.{version['name']}.{kind}"
            ROOTS[kind] = name
            schema = custom(version["schema"]["openAPIV3Schema"])
            schema.get("properties", {}).pop("status", None)
            schema["properties"].update(apiVersion={"type": "string"}, kind={"type": "string"})
            schema["properties"]["metadata"] = {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
            kept[name] = schema
# A quantity may be written as a number too.
kept["io.k8s.apimachinery.pkg.api.resource.Quantity"] = {"type": ["string", "number"]}
json.dump(
    {"version": document["info"]["version"], "kinds": ROOTS, "definitions": dict(sorted(kept.items()))},
    sys.stdout,
    indent=1,
)
print()
