import type { DNSResolver } from 'mailauth'
import { TriviumError } from '../../../src/core/errors.ts'
import type { NewMessage } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { EmailOptions } from '../options.ts'
import type { Identity } from '../proof/claim.ts'
import { MIN_ANSWER_MS, type ReplyTarget, replyTarget } from '../reply-target.ts'
import type { SentLog } from '../sent-log.ts'
import { createAdmission, type WaitedTime } from './admission.ts'
import { automaticReason, isAddressed } from './automatic.ts'
import { createBounces } from './bounce.ts'
import type { createConversations } from './conversation.ts'
import { type Incoming, type Ingested, placeOf } from './incoming.ts'
import { keyOf } from './mail-key.ts'
import type { Mail } from './parse.ts'
import { toMessage } from './to-message.ts'

/** A mail that is ready to be accepted, except for its conversation. */
type Ready = { mail: Mail; identity: Identity; target: ReplyTarget; draft: NewMessage }

export type Ingest = ReturnType<typeof createIngest>

type IngestParts = {
  options: EmailOptions
  deps: TransportDeps
  sent: SentLog
  own: ReadonlySet<string>
  findConversation: ReturnType<typeof createConversations>
  resolver: DNSResolver
  decisionTimeout: number
}

/**
 * Creates the function that accepts a batch of mails: reads them in parallel, and accepts them
 * together, in the order of the mailbox. The function resolves when all effects are durable. It
 * reports mails that can never be accepted, and leaves them in place. It rejects if a mail cannot
 * be accepted now; the batch may then be offered again. `waited` resolves with how long (ms) a mail
 * has been undecided: 0 for a new one.
 */
export function createIngest(parts: IngestParts) {
  const { deps, sent } = parts
  const { admit, ...senders } = createAdmission(parts)
  const bounceOf = createBounces(deps, sent)

  const read = async (incoming: Incoming, waited: WaitedTime): Promise<Ingested | Ready> => {
    const { mail } = incoming
    const { messageId: id = '' } = mail
    if (id.startsWith('<trivium-check.') || (await sent.byMessageId(id))) return { outcome: 'own' }
    const bounce = await bounceOf(mail)
    if (bounce) return { ...bounce, ...defined({ unreadable: mail.unreadable }) }
    const verdict = await admit(incoming, waited)
    return 'outcome' in verdict ? verdict : draftOf(incoming, verdict.identity, parts, senders)
  }

  return async <T extends Incoming>(
    batch: readonly T[],
    waited: (incoming: T) => ReturnType<WaitedTime>,
  ): Promise<Ingested[]> => {
    const reading = batch.map(async (mail) => {
      const work = read(mail, () => waited(mail))
      return { mail, result: await orRefused(mail, work, deps) }
    })
    // Waits for all of them, so that nothing is written after a stop.
    await Promise.allSettled(reading)
    const prepared: Prepared[] = []
    for (const { mail, result } of await Promise.all(reading)) {
      const accept = 'outcome' in result ? result : await orRefused(mail, prepare(result, parts), deps)
      prepared.push({ mail, accept: 'outcome' in accept ? async () => accept : accept })
    }
    return acceptAll(prepared, deps)
  }
}

/** Creates the message of an accepted mail, and the target of its reply. */
async function draftOf(
  incoming: Incoming,
  identity: Identity,
  { options, deps, sent, own }: IngestParts,
  { isAllowed, isProven }: Pick<ReturnType<typeof createAdmission>, 'isAllowed' | 'isProven'>,
): Promise<Ready> {
  const { mail } = incoming
  const auto = automaticReason(mail, own)
  const target = replyTarget(mail, {
    own,
    auto,
    identity,
    allowed: isAllowed,
    isAddressed: options.answer === 'any' || isAddressed(mail, own),
    receivedAt: incoming.internalDate,
    now: deps.now(),
    maxAge: options['reply-max-age'],
  })
  const facts = {
    gateway: deps.gateway,
    incoming,
    identity,
    auto,
    own,
    key: await keyOf(incoming, deps),
    allowed: isProven(identity),
    fingerprint: await answeredFingerprint(sent, mail),
  }
  return { mail, identity, target, draft: await toMessage(mail, facts, deps.artifacts) }
}

/** The fingerprint of our mail that this one answers. */
async function answeredFingerprint(
  sent: SentLog,
  { inReplyTo, references }: Mail,
): Promise<string | undefined> {
  return (await sent.byMessageId(inReplyTo ?? references.at(-1) ?? ''))?.said
}

/** Finds the conversation of a mail, and returns the function that accepts it. */
async function prepare(
  { mail, identity, target, draft }: Ready,
  { findConversation, deps }: IngestParts,
): Promise<() => Promise<Ingested>> {
  const { conversation, thread, answeredAt, remember } = await findConversation(mail, identity)
  const quick = answeredAt !== undefined && deps.now() - answeredAt < MIN_ANSWER_MS ? true : undefined
  const data = { ...draft.data, replyTarget: { ...target, thread, ...defined({ quick }) } }
  return async () => {
    const message = { ...draft, conversation, data }
    const [{ id, duplicate }] = await Promise.all([deps.accept(message), remember()])
    deps.log.debug({ messageId: id, conversation, duplicate }, 'a mail was accepted')
    return { outcome: 'accepted', id, ...defined({ unreadable: mail.unreadable }) }
  }
}

/** A mail, and the function that accepts it. */
type Prepared = { mail: Incoming; accept(): Promise<Ingested> }

/**
 * Accepts all mails in one turn of the event loop, and so in one write of the store. Those that
 * fail are tried again, one after another.
 */
async function acceptAll(prepared: readonly Prepared[], deps: TransportDeps): Promise<Ingested[]> {
  const attempts = await Promise.allSettled(prepared.map(({ accept }) => accept()))
  const results: Ingested[] = []
  for (const [at, { mail, accept }] of prepared.entries()) {
    const attempt = attempts[at]
    results.push(attempt?.status === 'fulfilled' ? attempt.value : await orRefused(mail, accept(), deps))
  }
  for (const { report } of results) report?.()
  return results
}

/**
 * Resolves with the result of `work`, or with a refusal after a permanent error. Rejects with other
 * errors.
 */
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
    const report = () => {
      refused(error.code, { why: `${Object.values(place).join(' ')}: ${error.message}` })
      log.error({ ...place, err: error }, 'a mail cannot be accepted; it stays in its folder')
    }
    return { outcome: 'refused', fault: error, report }
  }
}
