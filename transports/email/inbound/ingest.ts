import type { Readable } from 'node:stream'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { pause } from '../../../src/lib/pause.ts'
import { marksIn } from '../own-id.ts'
import type { SentLog } from '../sent-log.ts'
import { isAddressed } from './addressed.ts'
import { automaticReason, type OwnAddresses } from './automatic.ts'
import type { Conversations } from './conversation.ts'
import { type Identity, SenderUndecided, type VerifyIdentity } from './identity.ts'
import { createMailKeys } from './mail-keys.ts'
import type { Mail } from './parse.ts'
import { createSentReports } from './sent-reports.ts'
import { replyTarget } from './target.ts'
import { toMessage } from './to-message.ts'

/** A mail as it was fetched. `parse` and `open` may be called more than once. */
export type Incoming = {
  folder: string
  uid: number
  size: number
  /** Unix ms, from the server. */
  internalDate: number
  parse(): Promise<Mail>
  open(): Buffer | Readable
  hash(): Promise<string>
}

/**
 * What became of a mail. `own`: a copy of what this gateway sent. `bounce`, `receipt`: tied to their send; `foreign`:
 * a bounce of a send by others. None of these is a message. `undecided`: nobody can tell yet who wrote it, and it must
 * be offered again. `key` is what it is deduplicated by; empty where it must not be. `unreadable`: why it was taken
 * only in part, where it was.
 */
export type Ingested = {
  outcome: 'accepted' | 'known' | 'refused' | 'own' | 'bounce' | 'receipt' | 'foreign' | 'undecided'
  key: string
  unreadable?: string
}

/** Takes one mail in; resolves when everything that follows from it is durable. Rejects only when aborted. */
export type Ingest = (incoming: Incoming, work: Work) => Promise<Ingested>

export type Work = {
  /** Hashes of keys that were dealt with before. */
  known: ReadonlySet<string>
  /** Mails are read side by side, and accepted in the order of the mailbox: a thread must not be shuffled. */
  turn: Turn
  /** For how long it has been undecided (ms); 0 for a mail that was not offered before. */
  waited: number
  signal: AbortSignal
}

/** `wait` resolves when every mail before this one was handed to accept; `pass` lets the next one go on. */
export type Turn = { wait(): Promise<void>; pass(): void }

const RETRY = { first: 500, longest: 30_000 }

export function createIngest(options: {
  deps: TransportDeps
  own: OwnAddresses
  /** Undefined: everybody may write. */
  allowed: ((address: string) => boolean) | undefined
  authentication: 'require' | 'prefer' | 'off'
  /** Which mail is answered at all. */
  answer: 'addressed' | 'any'
  /** Older mail is not answered (ms). */
  maxAge: number
  verify: VerifyIdentity
  conversations: Conversations
  sent: SentLog
}): Ingest {
  const { deps, own, allowed, authentication, answer, maxAge, verify, conversations, sent } = options
  const { log } = deps
  const reportOf = createSentReports({ deps, sent })
  const keys = createMailKeys(deps)

  const once = async (incoming: Incoming, work: Work): Promise<Ingested> => {
    const mail = await incoming.parse()
    const result = await decide(mail, incoming, work)
    return mail.unreadable === undefined ? result : { ...result, unreadable: mail.unreadable }
  }

  const decide = async (mail: Mail, incoming: Incoming, work: Work): Promise<Ingested> => {
    const { known, turn, waited } = work
    const key = mail.messageId ? `mid:${mail.messageId}` : `sha256:${await incoming.hash()}`
    const before = await keys.seen(mail, key, known)
    if (before !== undefined) return { outcome: 'known', key: before }
    if (await isOwn(mail)) return { outcome: 'own', key }
    const report = await reportOf(mail)
    if (report) return { outcome: report, key }

    const sender = mail.from[0]?.address ?? ''
    if (allowed && !allowed(sender)) return refuse(mail, key, 'sender')
    const identity = await verify(mail, incoming.open, waited)
    const unproven = authentication === 'require' && identity.result !== 'pass'
    // Without a list nobody is let in by name, so a forged name opens nothing; it gets no answer, though.
    const forged = authentication === 'prefer' && allowed && identity.result === 'fail'
    if (unproven || forged) return refuse(mail, key, 'authentication', identity)

    return { outcome: 'accepted', key: await accept(mail, incoming, key, identity, turn) }
  }

  const isOwn = async (mail: Mail) => {
    const id = mail.messageId ?? ''
    if (id.startsWith('<trivium-check.')) return true
    const [mark] = marksIn(id)
    return mark !== undefined && (await sent.get(mark)) !== undefined
  }

  const refuse = (mail: Mail, key: string, reason: string, identity?: Identity): Ingested => {
    deps.refused(reason)
    const from = mail.from[0]?.address ?? ''
    log.warn(
      { from, reason, mailId: mail.messageId, ...(identity ? { identity } : {}) },
      'a mail was refused',
    )
    return { outcome: 'refused', key }
  }

  /** Resolves with the key under which it was accepted. */
  const accept = async (mail: Mail, incoming: Incoming, key: string, identity: Identity, turn: Turn) => {
    const auto = automaticReason(mail, own)
    const reply = replyTarget(mail, {
      own,
      auto,
      identity,
      allowed: allowed ?? (() => true),
      receivedAt: incoming.internalDate,
      now: deps.now(),
      maxAge,
    })
    const bystander = answer === 'addressed' && !reply.suppress && !isAddressed(mail, own)
    const target = bystander ? { ...reply, suppress: 'not-addressed' } : reply
    const { folder, uid, size } = incoming
    const facts = { gateway: deps.gateway, key, folder, uid, size, identity, auto, target, own }
    const draft = await toMessage(mail, facts, deps.artifacts)
    await turn.wait()
    const conversation = await conversations.find(mail, identity)
    const accepting = keys.accept(mail, key, (each) => deps.accept({ ...draft, key: each, conversation }))
    const remembering = conversations.remember(mail, conversation)
    turn.pass()
    const [{ key: taken, accepted }] = await Promise.all([accepting, remembering])
    const { id, duplicate } = accepted
    log.debug({ messageId: id, conversation, duplicate, ...(auto ? { auto } : {}) }, 'a mail was accepted')
    return taken
  }

  return async (incoming, work) => {
    const { turn, waited, signal } = work
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await once(incoming, work)
        turn.pass()
        return result
      } catch (error) {
        signal.throwIfAborted()
        const { folder, uid } = incoming
        if (error instanceof SenderUndecided) {
          if (waited === 0) log.warn({ folder, uid, reason: reasonOf(error) }, 'a mail was set aside')
          turn.pass()
          return { outcome: 'undecided', key: '' }
        }
        const permanent = error instanceof TriviumError && !error.retryable
        if (permanent) {
          deps.refused(error.code)
          log.error({ folder, uid, err: error }, 'a mail cannot be accepted; it stays in its folder')
          turn.pass()
          return { outcome: 'refused', key: '' }
        }
        log.warn({ folder, uid, reason: reasonOf(error) }, 'a mail could not be accepted yet; trying again')
        await pause(backoff(attempt, RETRY), signal)
        signal.throwIfAborted()
      }
    }
  }
}
