// Which deployments take a call: one that speaks another protocol than its caller, and cannot be told all that the call holds, does
// not get it while another one can. The failover plan asks wherever a call may go.
import type { StatedMembers } from '../../config/stated-members.ts';
import { Fault } from '../errors/fault.ts';
import type { Protocol } from '../protocols/protocol.ts';
import type { Exchange } from './exchange.ts';
import type { Identity } from './identity.ts';
import { outputLimit } from './output-limit.ts';
import type { ParsedRequest } from './parse-request.ts';
import type { SelectedDeployment } from './select-deployment.ts';
import { translateCall, type Translated, type TranslatedCall } from './translate-call.ts';
import { otherProtocol, servingOf } from './upstream-protocol.ts';

/** How a deployment would get the call. */
type Way = 'as it is' | 'translated' | 'not at all';

/** What a translation follows from beside the call: deployments that are alike in it are told the same. */
interface Form {
  readonly to: Protocol;
  readonly upstreamModel: string;
  readonly dropParams: boolean;
  readonly outputLimit: number | null;
  readonly forwards: boolean;
  readonly statedMembers: StatedMembers | null;
}

interface Finding {
  readonly form: Form;
  readonly way: Way;
}

/** Of one call. Nothing is kept of deployments that speak the protocol of its caller. */
export class Translations {
  readonly #x: Exchange;
  readonly #request: ParsedRequest;
  readonly #identity: Identity;
  #findings: Finding[] | null = null;
  /** The last translation, mostly for the deployment that gets the call: more than one would hold more bodies. */
  #made: { readonly form: Form; readonly call: TranslatedCall | null } | null = null;

  constructor(x: Exchange, request: ParsedRequest, identity: Identity) {
    this.#x = x;
    this.#request = request;
    this.#identity = identity;
  }

  wayTo(selected: SelectedDeployment): Way {
    try {
      const serving = servingOf(this.#x, selected);
      const to = otherProtocol(serving, this.#request.endpoint, this.#x.active.services.clock.mono);
      if (to === null) return 'as it is';
      const form = this.#formOf(selected, to);
      const known = this.#findings?.find((one) => isSame(one.form, form));
      if (known !== undefined) return known.way;
      const way = this.#translate(selected, form);
      this.#findings ??= [];
      this.#findings.push({ form, way });
      return way;
    } catch (thrown) {
      if (thrown instanceof Fault) return 'not at all';
      throw thrown;
    }
  }

  /** What `selected` would be told, as far as it is at hand; null: nothing is. It is given away, as its body serves one attempt. */
  taken(selected: SelectedDeployment): Translated | null {
    const made = this.#made;
    if (made === null) return null;
    const { to } = made.form;
    if (!isSame(made.form, this.#formOf(selected, to))) return null;
    this.#made = null;
    return { deployment: selected.deployment, to, call: made.call };
  }

  #formOf(selected: SelectedDeployment, to: Protocol): Form {
    const { deployment, upstreamModel, forwards } = selected;
    const { dropParams, statedMembers } = deployment.config;
    const limit = outputLimit(this.#x, selected);
    return { to, upstreamModel, dropParams, outputLimit: limit, forwards, statedMembers };
  }

  #translate(selected: SelectedDeployment, form: Form): Way {
    this.#request.body.restore(); // an attempt may have changed it
    try {
      const destination = { selected, to: form.to };
      const call = translateCall(this.#x, this.#request, this.#identity, destination, []);
      this.#made = { form, call };
      return call === null ? 'as it is' : 'translated';
    } catch (thrown) {
      if (thrown instanceof Fault) return 'not at all';
      throw thrown;
    }
  }
}

const isSame = (one: Form, other: Form): boolean =>
  one.to === other.to &&
  one.upstreamModel === other.upstreamModel &&
  one.dropParams === other.dropParams &&
  one.outputLimit === other.outputLimit &&
  one.forwards === other.forwards &&
  one.statedMembers === other.statedMembers;
