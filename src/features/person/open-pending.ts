import { NOTIFIER } from '../../core/author.ts'
import type { Call } from '../../core/call.ts'
import type { StoredJob } from '../../core/erasing.ts'
import { objectsIn, textAt, toJson } from '../../core/json.ts'
import type { Store } from '../../core/store.ts'
import { OUTBOX_QUEUE } from '../../engine/outbox.ts'
import { defined } from '../../lib/defined.ts'
import { personOf } from '../../lib/person-identity.ts'
import { partsOfJob } from './job-kinds.ts'
import type { Thing } from './open-things.ts'
import { shortTitle } from './open-title.ts'

/** Maximum numbers of planned messages, and of pages of jobs. */
const LIMITS = { sends: 1_000, pages: 3 }
/** A mail is usually sent within this time (ms), and is not open before. */
const SEND_TIME = 10_000

export type PendingDeps = {
  store: Pick<Store, 'journal' | 'erasing'>
  /** `send-list`. */
  sends(args: { limit: number }, call: Call): Promise<unknown>
}

/** Messages that are planned for later. */
export async function readPlanned({ store, sends }: PendingDeps, call: Call) {
  const found = objectsIn(toJson(await sends({ limit: LIMITS.sends }, call)))
  const things = found.map(async (send): Promise<Thing[]> => {
    const { id, at, created, gateway, messageId, conversation, to, text, subject } = send
    const message = typeof messageId === 'string' ? await store.journal.get(messageId) : undefined
    const name = to ?? conversation
    if (typeof gateway !== 'string' || (!message && typeof name !== 'string')) return []
    const who = personOf(message ?? { gateway, from: { id: String(name) } })
    const title = shortTitle(String(subject ?? text ?? ''))
    const place = { gateway, ...defined({ conversation: message?.conversation, from: message?.from }) }
    return [
      { kind: 'send', state: 'planned', id: String(id), at: Number(created), due: at, title, ...place, who },
    ]
  })
  return { things: (await Promise.all(things)).flat(), isCut: found.length >= LIMITS.sends }
}

/** Mails that are not sent yet. What waits for a push is no wait of the person: `person-show` has it. */
export async function readUnsent({ store }: PendingDeps, signal: AbortSignal) {
  const mails: Thing[] = []
  let after: string | undefined
  for (let page = 0; page < LIMITS.pages && (page === 0 || after !== undefined); page++) {
    signal.throwIfAborted()
    const { items, next } = await store.erasing.jobs(after, { queue: OUTBOX_QUEUE })
    mails.push(...items.flatMap(openMail))
    after = next
  }
  return { things: mails, isCut: after !== undefined }
}

/** A mail to the person that is tried again. A reply is open with its message. */
function openMail({ content }: StoredJob): Thing[] {
  const [data] = partsOfJob(content).filter(({ text }) => typeof text === 'string')
  const [to, gateway, key] = ['to', 'gateway', 'key'].map((field) => textAt(data, field))
  const at = Number(data?.queuedAt)
  const isOpen = data?.inReplyTo === undefined && data?.by !== NOTIFIER && Date.now() - at > SEND_TIME
  if (!isOpen || to === undefined || gateway === undefined || key === undefined) return []
  const title = shortTitle(textAt(data, 'subject') ?? textAt(data, 'text') ?? '')
  return [
    {
      kind: 'mail',
      state: 'not sent yet',
      id: key,
      at,
      title,
      gateway,
      who: personOf({ gateway, from: { id: to } }),
    },
  ]
}
