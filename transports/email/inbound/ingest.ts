import { hash } from 'node:crypto'
import type { DNSResolver } from 'mailauth'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import { compilePattern } from '../../../src/core/pattern.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { header } from '../mime/head.ts'
import type { EmailOptions } from '../options.ts'
import type { Identity } from '../proof/claim.ts'
import { createIdentityCheck } from '../proof/verify.ts'
import { type ReplyTarget, replyTarget } from '../reply-target.ts'
import type { SentLog } from '../sent-log.ts'
import { automaticReason, isAddressed } from './automatic.ts'
import { createBounces } from './bounce.ts'
import type { createConversations } from './conversation.ts'
import type { Incoming } from './incoming.ts'
import type { Mail } from './parse.ts'
import { toMessage } from './to-message.ts'

/**
 * The outcome of a mail. `own`: a copy of a mail that this gateway sent. `bounce`: assigned to its send;
 * `foreign`: a bounce of another send. None of these becomes a message. `undecided`: the sender cannot be
 * verified yet, and the mail must be offered again. `unreadable`: why it was accepted only in part.
 */
export type Ingested = {
  outcome: 'accepted' | 'refused' | 'own' | 'bounce' | 'foreign' | 'undecided'
  unreadable?: string
  /** Of the message. */
  id?: string
  /** The reason of the refusal, if no option explains it. */
  fault?: TriviumError
  /** Counts and logs it once, even if the whole batch is offered again. */
  tell?: () => void
}

/** A mail that is ready to be accepted, except for its conversation. */
type Ready = { mail: Mail; identity: Identity; target: ReplyTarget; draft: NewMessage }

/** Nobody can read and answer a mail within this time (ms). */
const QUICK = 30_000

export type Ingest = ReturnType<typeof createIngest>

type Waited<T extends Incoming = Incoming> = (incoming: T) => number

/**
 * Makes the function that accepts a batch of mails. They are read in parallel and accepted together, in the
 * order of the mailbox. It resolves when all effects are durable. Mails that can never be accepted are
 * reported and left in place. If another cannot be accepted now, it rejects, and the batch may be offered
 * again. `waited`: how long a mail has been undecided (ms); 0 for a new one.
 */
export function createIngest(parts: {
  options: EmailOptions
  deps: TransportDeps
  sent: SentLog
  own: ReadonlySet<string>
  findConversation: ReturnType<typeof createConversations>
  resolver: DNSResolver
  patience: number
}) {
  const { options, deps, sent, own, findConversation, patience } = parts
  const { authentication, answer, 'allowed-senders': globs, 'reply-max-age': maxAge } = options
  const { log, gateway } = deps
  const senders = globs?.map(compilePattern)
  const isAllowed = (address: string) => !senders || senders.some((each) => each.test(address))
  const verify = createIdentityCheck(options, parts.resolver)
  const bounceOf = createBounces(deps, sent)

  const read = async (incoming: Incoming, waited: Waited): Promise<Ingested | Ready> => {
    const { mail } = incoming
    const { messageId: id = '' } = mail
    if (id.startsWith('<trivium-check.') || (await sent.of(id))) return { outcome: 'own' }
    const bounce = await bounceOf(mail)
    if (bounce) return { ...bounce, ...defined({ unreadable: mail.unreadable }) }

    const refuse = (reason: string, identity?: Identity): Ingested => {
      const from = mail.from[0]?.address ?? ''
      const why = identity?.detail ?? 'allowed-senders does not name it'
      const tell = () => {
        deps.refused(reason, { from, why, body: `${mail.subject ?? ''}\n${mail.text}` })
        log.debug({ from, reason, mailId: mail.messageId, ...defined({ identity }) }, 'a mail was refused')
      }
      return { outcome: 'refused', tell }
    }
    if (!isAllowed(mail.from[0]?.address ?? '')) return refuse('sender')
    const { identity, undecided } = incoming.verdict ?? (await verify(mail, incoming.raw))
    if (undecided && waited(incoming) < patience) {
      if (waited(incoming) === 0)
        log.warn({ ...placeOf(incoming), reason: identity.detail }, 'a mail was set aside')
      return { outcome: 'undecided' }
    }
    const unproven = authentication === 'require' && identity.result !== 'pass'
    // Without `allowed-senders` a forged name grants nothing, so the mail is accepted; it gets no answer.
    const forged = authentication === 'prefer' && senders && identity.result === 'fail'
    if (unproven || forged) return refuse('authentication', identity)

    const auto = automaticReason(mail, own)
    const target = replyTarget(mail, {
      own,
      auto,
      identity,
      allowed: isAllowed,
      isAddressed: answer === 'any' || isAddressed(mail, own),
      receivedAt: incoming.internalDate,
      now: deps.now(),
      maxAge,
    })
    const key = await keyOf(incoming, deps)
    const allowed = senders && identity.result === 'pass' && !identity.unsigned
    const facts = { gateway, key, incoming, identity, auto, own, allowed, said: await saidBy(sent, mail) }
    return { mail, identity, target, draft: await toMessage(mail, facts, deps.artifacts) }
  }

  /** Finds its conversation; the returned function accepts it. */
  const place = async ({ mail, identity, target, draft }: Ready) => {
    const { conversation, thread, answers, remember } = await findConversation(mail, identity)
    const quick = answers !== undefined && deps.now() - answers < QUICK ? true : undefined
    const data = { ...draft.data, replyTarget: { ...target, thread, ...defined({ quick }) } }
    return async (): Promise<Ingested> => {
      const message = { ...draft, conversation, data }
      const [{ id, duplicate }] = await Promise.all([deps.accept(message), remember()])
      log.debug({ messageId: id, conversation, duplicate }, 'a mail was accepted')
      return { outcome: 'accepted', id, ...defined({ unreadable: mail.unreadable }) }
    }
  }

  return async <T extends Incoming>(batch: readonly T[], waited: Waited<T>): Promise<Ingested[]> => {
    const reading = batch.map(
      async (mail) =>
        [
          mail,
          await orRefused(
            mail,
            read(mail, () => waited(mail)),
            deps,
          ),
        ] as const,
    )
    // Waits for all of them, so that nothing is written after a stop.
    await Promise.allSettled(reading)
    const found: [Incoming, () => Promise<Ingested>][] = []
    for (const [mail, each] of await Promise.all(reading)) {
      const placed = 'outcome' in each ? each : await orRefused(mail, place(each), deps)
      found.push([mail, 'outcome' in placed ? async () => placed : placed])
    }
    return acceptAll(found, deps)
  }
}

/** In one turn of the event loop, which is one write of the store; if that fails, one after the other. */
async function acceptAll(
  found: readonly [Incoming, () => Promise<Ingested>][],
  deps: TransportDeps,
): Promise<Ingested[]> {
  const attempts = await Promise.allSettled(found.map(([, accept]) => accept()))
  const results: Ingested[] = []
  for (const [at, [mail, accept]] of found.entries()) {
    const attempt = attempts[at]
    results.push(attempt?.status === 'fulfilled' ? attempt.value : await orRefused(mail, accept(), deps))
  }
  for (const { tell } of results) tell?.()
  return results
}

async function orRefused<T>(
  incoming: Incoming,
  work: Promise<T>,
  { refused, log }: TransportDeps,
): Promise<T | Ingested> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof TriviumError) || error.retryable) throw error
    const place = placeOf(incoming)
    const tell = () => {
      refused(error.code, { why: `${Object.values(place).join(' ')}: ${error.message}` })
      log.error({ ...place, err: error }, 'a mail cannot be accepted; it stays where it is')
    }
    return { outcome: 'refused', fault: error, tell }
  }
}

/** Longer than a store knows a key, so that the Date of every known key is known too. */
const KEEP = 8 * 86_400_000
/** The Date (Unix ms), content and sender of the first mail with a Message-ID. */
const firstSchema = z.tuple([z.number(), z.string(), z.string()])

/**
 * The deduplication key of a mail: the Message-ID, or the content if there is none. Some devices, and
 * forgers, use the same id for each mail. A mail with the same id, but another text and another Date or
 * sender, gets its own key. Less is not enough: mailing lists change Subject, From and text, and a resend may
 * have a new date.
 */
async function keyOf({ mail, raw, source, id }: Incoming, { kv, gateway }: TransportDeps): Promise<string> {
  if (!mail.messageId) return id ? `${source}:${id}` : `sha256:${hash('sha256', raw)}`
  const key = `mid:${mail.messageId}`
  const { date = 0 } = mail
  const from = mail.from[0]?.address ?? ''
  const note = `email/${gateway}/date/${hash('sha256', key, 'base64url').slice(0, 22)}`
  const text = hash('sha256', mail.text || mail.html || '', 'base64url').slice(0, 12)
  if (await kv.set(note, [date, text, from], { ttl: KEEP, ifVersion: 0 })) return key
  const first = firstSchema.safeParse((await kv.get(note))?.value).data
  if (!first || first[1] === text) return key
  const isOther = first[2] !== from && header(mail, 'list-id') === undefined
  return isOther ? `${key}#${date} ${from}` : first[0] === date ? key : `${key}#${date}`
}

/** The place of a mail, for the log. */
function placeOf({ folder, uid, source, id }: Incoming) {
  return defined({ folder, uid, source, id })
}

/** The fingerprint of our mail that this one answers. */
async function saidBy(sent: SentLog, { inReplyTo, references }: Mail): Promise<string | undefined> {
  return (await sent.of(inReplyTo ?? references.at(-1) ?? ''))?.said
}
