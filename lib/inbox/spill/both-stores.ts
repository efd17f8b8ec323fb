import { withTimeout } from '../../concurrency/timers';
import { storeFailed, type StorePort } from '../store/port';
import type { CallName, LocalCall, StoreCalls } from '../store/protocol';
import { endStep } from '../store/step';
import type { Spilling } from './spilling';

type Take<Name extends CallName> = StoreCalls[Name]['take'];
type Give<Name extends CallName> = Promise<StoreCalls[Name]['give']>;
type Routes = { [Name in CallName]?: (take: Take<Name>, hurry?: boolean) => Give<Name> };

export interface BothStoresOptions {
  spilling: Spilling;
  /** The endpoint whose flow has an event of the inbox at work. */
  endpointOf: (deliveryId: string) => string | undefined;
  /** Told that one waits for the inbox to work. */
  onKept: () => void;
  /** Time for the inbox to take a settlement before that is spilled, in milliseconds. */
  patience: number;
}

/**
 * The inbox and what is spilled beside it, as one: each event is asked of where it is, under the same delivery id throughout.
 * What comes in, and what waits, is asked of the one or the other by those who know which.
 */
export class BothStores implements StorePort {
  readonly #routes: Routes;

  constructor(
    private readonly main: StorePort,
    private readonly options: BothStoresOptions,
  ) {
    const { store } = options.spilling;
    this.#routes = {
      // What the inbox would not have has the turn of its alarm all the same.
      lease: (take) => main.call('lease', { ...take, except: store.openAlarms(take.endpoint) }),
      lapse: (take) =>
        this.#at(
          take.deliveryId,
          () => store.lapse(take),
          () => main.call('lapse', take),
        ),
      again: (id) =>
        this.#at(
          id,
          () => store.again(id),
          () => main.call('again', id),
        ),
      finish: (take) =>
        this.#at(
          take.deliveryId,
          () => store.finish(take),
          () => this.#finish(take),
        ),
      // It waits beside the inbox, where it looks for itself.
      revive: (act) =>
        this.#at(
          act.deliveryId,
          () => store.revive(act).then(() => undefined),
          () => main.call('revive', act),
        ),
      dismiss: (act) =>
        this.#at(
          act.deliveryId,
          () => store.dismiss(act),
          () => main.call('dismiss', act),
        ),
      note: (take) =>
        this.#at(
          take.deliveryId,
          () => store.note(take),
          () => this.#note(take),
        ),
      stateOf: (id) =>
        this.#at(
          id,
          async () => store.messages.find(id)?.progress.state,
          () => main.call('stateOf', id),
        ),
      giveBack: (take) => this.#giveBack(take),
      markDelivered: (ids, hurry) => this.#markDelivered(ids, hurry),
    };
  }

  call<Name extends LocalCall>(name: Name, take: Take<Name>, hurry?: boolean): Give<Name> {
    const route: Routes[Name] = this.#routes[name];
    return route === undefined ? this.main.call(name, take, hurry) : route(take, hurry);
  }

  close(): Promise<void> {
    return this.main.close();
  }

  /** One that is just entering the inbox is asked of where it is then. */
  #at<Result>(
    deliveryId: string,
    beside: () => Promise<Result>,
    inside: () => Promise<Result>,
  ): Promise<Result> {
    const spilled = this.options.spilling.store.messages.find(deliveryId);
    if (spilled === undefined) return inside();
    if (spilled.moving === undefined) return beside();
    return spilled.moving.then(() => this.#at(deliveryId, beside, inside));
  }

  async #moved(deliveryIds: readonly string[]): Promise<void> {
    const { messages } = this.options.spilling.store;
    await Promise.all(deliveryIds.map((id) => messages.find(id)?.moving ?? Promise.resolve()));
  }

  #split(deliveryIds: readonly string[]): { beside: string[]; inside: string[] } {
    const { store } = this.options.spilling;
    return {
      beside: deliveryIds.filter((id) => store.has(id)),
      inside: deliveryIds.filter((id) => !store.has(id)),
    };
  }

  /** How many wait again in the inbox. */
  #giveBack(take: Take<'giveBack'>): Give<'giveBack'> {
    const ids = [...take.unsent, ...take.cutOff];
    // In one step with the answers before and after it: those who count what waits rely on their order.
    return this.#split(ids).beside.length === 0 ? this.main.call('giveBack', take) : this.#giveEachBack(take);
  }

  async #giveEachBack(take: Take<'giveBack'>): Give<'giveBack'> {
    await this.#moved([...take.unsent, ...take.cutOff]);
    const [unsent, cutOff] = [this.#split(take.unsent), this.#split(take.cutOff)];
    await this.options.spilling.store.giveBack({ unsent: unsent.beside, cutOff: cutOff.beside });
    if (unsent.inside.length + cutOff.inside.length === 0) return 0;
    return this.main.call('giveBack', { unsent: unsent.inside, cutOff: cutOff.inside });
  }

  async #markDelivered(ids: readonly string[], hurry?: boolean): Give<'markDelivered'> {
    if (this.#split(ids).beside.length > 0) await this.#moved(ids);
    const { beside, inside } = this.#split(ids);
    const marking = [
      ...(beside.length > 0 ? [this.options.spilling.store.markDelivered(beside)] : []),
      ...(inside.length > 0 ? [this.#markInside(inside, hurry)] : []),
    ];
    await Promise.all(marking);
  }

  async #markInside(ids: string[], hurry?: boolean): Promise<void> {
    const step = endStep('delivered');
    const marking = this.main.call('markDelivered', ids, hurry).then(() => true);
    try {
      if ((await withTimeout(marking, this.options.patience)) === true) return;
    } catch (error) {
      return this.#keepEnds(ids, { state: 'delivered', step }, () => Promise.reject(error));
    }
    await this.#keepEnds(ids, { state: 'delivered', step }, async () => void (await marking));
  }

  /** What becomes of an event does not wait for what is said of it. @throws RvmError STORE_FAILED */
  async #note(take: Take<'note'>): Give<'note'> {
    const noting = this.main.call('note', take).then((give) => ({ give }));
    const noted = await withTimeout(noting, this.options.patience);
    if (noted === undefined) throw storeFailed('it answers too slowly');
    return noted.give;
  }

  /** An inbox that fails cannot be told that an event is settled; so that is spilled, and told later. */
  #finish(take: Take<'finish'>): Give<'finish'> {
    const finishing = this.main.call('finish', take);
    const endpoint = this.options.endpointOf(take.deliveryId);
    return endpoint === undefined ? finishing : this.#finishOrKeep(take, finishing, endpoint);
  }

  async #finishOrKeep(take: Take<'finish'>, finishing: Give<'finish'>, endpoint: string): Give<'finish'> {
    const told = finishing.then((give) => ({ give }));
    let otherwise: () => Promise<void> = async () => void (await told);
    try {
      const finished = await withTimeout(told, this.options.patience);
      if (finished !== undefined) return finished.give;
    } catch (error) {
      otherwise = () => Promise.reject(error);
    }
    await this.#keepEnds([take.deliveryId], take, otherwise);
    return { was: 'leased', endpoint };
  }

  /** @param otherwise where that cannot be written either */
  async #keepEnds(
    ids: readonly string[],
    end: Pick<Take<'finish'>, 'state' | 'step'>,
    otherwise: () => Promise<void>,
  ): Promise<void> {
    try {
      await Promise.all(ids.map((id) => this.options.spilling.settle(id, end)));
      this.options.onKept();
    } catch {
      await otherwise();
    }
  }
}
