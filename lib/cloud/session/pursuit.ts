import { RvmError, asError } from '../../error';
import type { Answer } from '../http/answer';
import type { Attempt } from '../http/attempt';
import { isOutage, SENT_AGAIN } from '../http/sent-again';
import { timeoutError } from '../http/transport-error';
import { requestKind, type ServiceRequest, type Transport } from '../http/transport';
import { Tries } from '../http/tries';
import type { Operation } from '../operation';
import { isQuestionOfRights, type Judged, type RotationMemory, type Tried } from './cookie-rotation';

/** What a pursuit needs of the station. */
export interface Sessions<Session> {
  readonly memory: RotationMemory;
  /** Whether nothing is sent at present. */
  isOut: () => boolean;
  /** The session of the moment, once something may be sent. */
  open: (operation: Operation) => Session | Promise<Session>;
  /** Undefined where it was not sent, because the session has been renewed or nothing is sent any more. */
  send: (
    operation: Operation,
    session: Session,
    wanted: ServiceRequest,
    tried: Tried,
  ) => Promise<Judged | undefined>;
  /** Sees to another session in place of one that has refused. */
  renew: (operation: Operation, session: Session, refusal: Judged) => Promise<void>;
  /** What is said of a refusal that is a question of rights. */
  denied: (session: Session, refusal: Answer) => RvmError;
}

/** One request on its way to a success, however often it has to be sent for that. */
export class Pursuit<Session> {
  readonly #sessions: Sessions<Session>;
  readonly #operation: Operation;
  readonly #wanted: ServiceRequest;
  readonly #tries: Tries;
  #attempt: Attempt;
  /** The first session that has refused it. */
  #refusedBy: Session | undefined;
  #endDoubt: (() => void) | undefined;

  constructor(
    sessions: Sessions<Session>,
    transport: Transport,
    operation: Operation,
    wanted: ServiceRequest,
  ) {
    this.#sessions = sessions;
    this.#operation = operation;
    this.#wanted = wanted;
    this.#tries = new Tries(transport, operation, wanted);
    this.#attempt = this.#tries.next();
  }

  /** @returns an answer with a status of success */
  async answer(): Promise<Answer> {
    try {
      for (;;) {
        const answer = await this.#try(await this.#sessions.open(this.#operation));
        if (answer === undefined) continue;
        this.#operation.goesOn();
        return answer;
      }
    } finally {
      this.#endDoubt?.();
    }
  }

  /** @returns undefined where it is to be tried again, now */
  async #try(session: Session): Promise<Answer | undefined> {
    const attempt = this.#tries.next(this.#attempt);
    this.#attempt = attempt;
    const isLast = this.#refusedBy !== undefined;
    const sending = this.#sessions.send(this.#operation, session, this.#wanted, { attempt, isLast });
    const outcome = await sending.catch(asError);
    if (outcome === undefined) return undefined;
    if (outcome instanceof Error) await this.#failed(outcome);
    else if (outcome.isRefused) await this.#refused(session, outcome);
    else if (outcome.answer.ok) return outcome.answer;
    else await this.#tries.waitAfter(outcome.answer, attempt, this.#sessions.isOut);
    return undefined;
  }

  async #failed(error: Error): Promise<void> {
    if (!(error instanceof RvmError)) throw error;
    // Of a command that is on its way when the time is over, nobody knows whether it is carried out; whatever was waited for before.
    const isLate = this.#operation.isOver && error.code !== 'CANCELLED';
    if (isLate && this.#isCommand && this.#attempt.isSent) {
      throw timeoutError(this.#wanted, this.#attempt.number);
    }
    this.#operation.checkAlive();
    await this.#tries.waitAfter(error, this.#attempt, this.#sessions.isOut);
  }

  async #refused(session: Session, refusal: Judged): Promise<void> {
    const { answer, isCertain } = refusal;
    const isOfRights = isQuestionOfRights(refusal);
    if (isOfRights && this.#refusedBy !== undefined && this.#refusedBy !== session) {
      throw answer.isHeadTooLarge ? answer.statusError() : this.#sessions.denied(session, answer);
    }
    if (SENT_AGAIN['status 401, 403, 431'][requestKind(this.#wanted)] === 'never') throw answer.statusError();
    if (!isCertain) this.#doubt();
    if (!isOfRights && this.#refusedBy !== undefined) {
      await this.#tries.pause(refusalError(answer), undefined, this.#sessions.isOut);
    }
    this.#refusedBy ??= session;
    try {
      await this.#sessions.renew(this.#operation, session, refusal);
    } catch (error) {
      this.#operation.checkAlive();
      if (!(error instanceof RvmError) || !isOutage(error)) throw error;
      await this.#tries.waitAfterLogin(error, this.#sessions.isOut);
    }
  }

  /** The refusal may be that of an old cookie. From now on it goes alone, with a new session, so that the next one is certain. */
  #doubt(): void {
    this.#endDoubt ??= this.#sessions.memory.doubt();
  }

  get #isCommand(): boolean {
    return requestKind(this.#wanted) === 'command';
  }
}

/** The error of a refusal that may pass. */
function refusalError(answer: Answer): RvmError {
  if (answer.refused) return answer.statusError();
  return answer.error(
    'HTTP_ERROR',
    `The service answered ${answer.relation} as to somebody who is not logged in; try again in a while, or report it to the service.`,
  );
}

/** The error of a refusal that is a question of rights. */
export function permissionDenied(answer: Answer): RvmError {
  return answer.error(
    'PERMISSION_DENIED',
    `The service refuses ${answer.relation} to this Agent User; check its rights and what the customer has granted.`,
  );
}
