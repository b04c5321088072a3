// What of a request cannot be carried into another protocol. What would change the answer is refused, or dropped and
// named where the operator set `drop_params`; what only hints (caches, storage, tiers, labels) is dropped and named always.
import { isStated, type Json } from '../../bodies/json.ts';
import { Fault } from '../../errors/fault.ts';
import { isStoredByGoogle } from './media.ts';

/** What of a call says how it is carried. */
interface Carriage {
  /** Members that cannot be carried: true drops and names them, false refuses with 400. */
  readonly dropParams: boolean;
  /** Its model is one of Google's. */
  readonly isForGoogle: boolean;
}

/** Of one request. Readers and writers report to it what they cannot carry. */
export class Losses {
  readonly #carriage: Carriage;
  readonly #dropped = new Set<string>();

  constructor(carriage: Carriage) {
    this.#carriage = carriage;
  }

  /** Dotted paths of members, each once. */
  get dropped(): readonly string[] {
    return [...this.#dropped];
  }

  /**
   * A member that changes the answer has no counterpart.
   * @throws Fault 400 unless such members are dropped
   */
  cannot(member: string, why: string): void {
    if (!this.#carriage.dropParams)
      this.refuse(member, `${why} Leave it out, or let the operator set drop_params.`);
    this.#dropped.add(member);
  }

  /**
   * A member without which the request means something else.
   * @throws Fault 400
   */
  refuse(member: string, why: string): never {
    throw new Fault('untranslatable_member', `\`${member}\` cannot be carried to this upstream: ${why}`, {
      param: member,
    });
  }

  /**
   * Of a part of the conversation that holds no file: it may name one.
   * @throws Fault 400 if it does
   */
  refuseStoredFile(part: Json, path: string): void {
    if (isStated(part['file_id']))
      this.refuse(`${path}.file_id`, 'one vendor does not know what another stores. Send the file itself.');
  }

  /**
   * Of a part of the conversation that states the address of a file: it may be one that the upstream cannot fetch.
   * @throws Fault 400 if it is
   */
  checkAddress(url: string, member: string): void {
    if (!this.#carriage.isForGoogle && isStoredByGoogle(url))
      this.refuse(member, 'what Google stores is read by Gemini alone. Send the file itself.');
  }

  /** A member that only hints is left out. */
  drop(member: string): void {
    this.#dropped.add(member);
  }
}
