#!/bin/sh
# Builds kube-apiserver and etcd from the Go module proxy into FOLDER (Go 1.24 or later; ten minutes of CPU on one core,
# 5 GB of cache), for the tests of the Kubernetes driver:
#   test/interop/kubernetes/build.sh FOLDER
#   KUBE_APISERVER=FOLDER/kube-apiserver ETCD=FOLDER/etcd npm test -- test/platform/sandboxes/kubernetes
# Kubernetes' OpenAPI document, for schemas.py, is then at
#   $(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/swagger.json
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
flags="-s -w -X k8s.io/component-base/version.gitVersion=$version"
go build -trimpath -ldflags "$flags" -o "$out/etcd" go.etcd.io/etcd/server/v3
go build -trimpath -ldflags "$flags" -o "$out/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver
