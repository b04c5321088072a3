// Which deployments take a call: one that speaks another protocol than its caller, and cannot be told all that the call holds, does
// not get it while another one can. The failover plan asks wherever a call may go.
import type { LiveDeployment } from '../active-config/active-config.ts';
import { Fault } from '../errors/fault.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { translateCall, type Translated } from './translate-call.ts';
import { otherProtocol } from './upstream-protocol.ts';

/** How a deployment would get the call. */
type Way = 'as it is' | 'translated' | 'not at all';

/** What was found out about a deployment. Asked for by another name, or spoken to in another protocol, it is found out anew. */
interface Finding {
  readonly to: Protocol;
  readonly upstreamModel: string;
  readonly way: Way;
}

/** Of one call. Nothing is kept of deployments that speak the protocol of its caller. */
export class Translations {
  readonly #x: Exchange;
  readonly #request: ParsedRequest;
  readonly #identity: Identity;
  #findings: Map<LiveDeployment, Finding> | null = null;
  /** The last translation, mostly for the deployment that gets the call: more than one would hold more bodies. */
  #made: { readonly upstreamModel: string; readonly translated: Translated } | null = null;

  constructor(x: Exchange, request: ParsedRequest, identity: Identity) {
    this.#x = x;
    this.#request = request;
    this.#identity = identity;
  }

  wayTo(selected: SelectedDeployment): Way {
    const { deployment, upstreamModel } = selected;
    try {
      const to = otherProtocol(deployment, this.#request.endpoint, this.#x.active.services.clock.mono);
      if (to === null) return 'as it is';
      const known = this.#findings?.get(deployment);
      if (known?.to === to && known.upstreamModel === upstreamModel) return known.way;
      const way = this.#translate(selected, to);
      this.#findings ??= new Map();
      this.#findings.set(deployment, { to, upstreamModel, way });
      return way;
    } catch (thrown) {
      if (thrown instanceof Fault) return 'not at all';
      throw thrown;
    }
  }

  /** What was translated for `selected` to find its way out; null: nothing. It is given away, as its body serves one attempt. */
  taken({ deployment, upstreamModel }: SelectedDeployment): Translated | null {
    const made = this.#made;
    if (made?.translated.deployment !== deployment || made.upstreamModel !== upstreamModel) return null;
    this.#made = null;
    return made.translated;
  }

  #translate(selected: SelectedDeployment, to: Protocol): Way {
    const { deployment, upstreamModel } = selected;
    this.#request.body.restore(); // an attempt may have changed it
    try {
      const call = translateCall(this.#x, this.#request, this.#identity, { selected, to }, []);
      this.#made = { upstreamModel, translated: { deployment, to, call } };
      return call === null ? 'as it is' : 'translated';
    } catch (thrown) {
      if (thrown instanceof Fault) return 'not at all';
      throw thrown;
    }
  }
}
