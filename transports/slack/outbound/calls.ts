import { createHash } from 'node:crypto'
import { z } from 'zod'
import { objectAt, objectsAt, objectsIn, parseJson, textAt } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { type Fetch, fetching, ifRefused, MAYBE_DONE, readHistory } from '../api.ts'
import type { Target } from '../conversation.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces.ts'

/** What must not happen twice. Everything else reads, or sets what is set already. */
const ONCE =
  /^(chat\.(post|me|schedule|start|append|stop)|files\.(complete|remote)|(reactions|pins|bookmarks|reminders)\.add|conversations\.(create|invite)|views\.(open|push)|functions\.complete|response_url)/
/** What only one person sees: nobody can look whether it is there. */
const UNSEEN = /^(chat\.postEphemeral|response_url)$/
/** It was done already. */
const DONE = /^(already_|message_not_in_streaming_state$)/
/** How much of a thread or channel is read in search of one post. */
const MAX_READ = 1000
/** A little longer than a message, or the key of a reply, is known (ms). */
export const KEPT = 8 * 86_400_000
const MAX_CALLS = 1000

const recordSchema = z.object({
  method: z.string(),
  /** The how many-th of its method in all runs. */
  part: z.number(),
  /** What it said, as a hash. */
  said: z.string(),
  /** The files that it shares. */
  files: z.array(z.string()),
  /** It may have been made. One that Slack refused was not, and keeps its place among the others. */
  wasMade: z.boolean(),
  /** Where its answer was lost, nobody can tell whether it happened. */
  unseen: z.boolean(),
  /** What Slack answered; absent until it has. */
  answer: z.string().exactOptional(),
})

/** `isOld`: of an earlier run. */
type Call = { record: z.infer<typeof recordSchema>; isOld: boolean }

/** One run of what may be repeated. */
export type Run = {
  /** The same in every run. */
  key: string
  /** Where its posts are looked for. */
  workspace: Workspace | undefined
  /** By which it may answer, besides the Web API. */
  responseUrls: readonly (string | undefined)[]
  /** After it aborts, nothing is called any more. */
  signal: AbortSignal
  /** The store may have forgotten what an earlier run called. */
  isUnsure?: boolean
}

/**
 * Calls of Slack in what may be run again after a failure or a crash: the sending of a reply, or the listeners of a Bolt app.
 * What was called is not called again: the same call, else the next of its method, gets the first answer. A post, the start of
 * a stream or a shared file whose answer was lost is looked for.
 */
export function createCalls({ apiUrl }: Pick<SlackOptions, 'apiUrl'>, { kv, gateway }: TransportDeps) {
  const prefixOf = (key: string) => `slack/${gateway}/call/${hashOf(key)}/`

  const read = async (key: string): Promise<Call[]> => {
    const names = await kv.list(prefixOf(key), MAX_CALLS)
    const kept = await Promise.all(
      names.map(async (name) => recordSchema.safeParse((await kv.get(name))?.value)),
    )
    const calls = kept.flatMap(({ data }) => (data ? { record: data, isOld: true } : []))
    return calls.sort((a, b) => a.record.part - b.record.part)
  }

  /** The `fetch` of a run. */
  const fetchIn = ({ key, workspace, responseUrls, signal, isUnsure = false }: Run): Fetch => {
    /** Made, and in this run not called for yet. */
    const open: Call[] = []
    const counts = new Map<string, number>()
    const nameOf = ({ method, part }: Call['record']) => `${prefixOf(key)}${method}/${part}`
    const keep = ({ record }: Call) => kv.set(nameOf(record), record, { ttl: KEPT })
    let reading: Promise<void> | undefined

    const readOnce = async () => {
      open.push(...(await read(key)))
      for (const { record } of open) counts.set(record.method, record.part + 1)
    }

    const claim = async (method: string, body: string): Promise<Call> => {
      reading ??= readOnce()
      await reading
      const said = hashOf(body)
      const same = open.filter(({ record }) => record.method === method)
      const known = same.find(({ record }) => record.said === said) ?? same.find(({ isOld }) => isOld)
      if (known) open.splice(open.indexOf(known), 1)
      if (known?.record.wasMade) return known
      const next = counts.get(method) ?? 0
      const part = known?.record.part ?? next
      counts.set(method, Math.max(next, part + 1))
      const shared = objectsIn(parseJson(new URLSearchParams(body).get('files') ?? ''))
      const files = shared.map(({ id }) => String(id))
      const record = { method, part, said, files, wasMade: false, unseen: UNSEEN.test(method) }
      return { record, isOld: false }
    }

    /** The answer to a call that may have been made; undefined where it was not. */
    const find = async (call: Call, asked: URLSearchParams): Promise<string | undefined> => {
      const { method, part, files } = call.record
      const to = asked.get('channel') ?? asked.get('channel_id') ?? ''
      if (!workspace) return undefined
      const channel = /^[UW]/.test(to) ? await openDirect(to, workspace) : to
      const place = defined({ channel, thread: asked.get('thread_ts') ?? undefined })
      const found = await findPosts(key, workspace, place, files).catch(ifRefused)
      const ts = method === 'chat.startStream' ? found?.stream : found?.posts.get(part)
      if (ts !== undefined) return postedAt({ channel, ts })
      if (found?.shared) return JSON.stringify({ ok: true, files: files.map((id) => ({ id })) })
      if (found?.complete) return undefined
      call.record.unseen = true
      await keep(call)
      throw new Error('whether it was posted cannot be seen: more was since than can be read, or nothing can')
    }

    const make = async (call: Call, ...[input, init]: Parameters<Fetch>): Promise<Response> => {
      const { record } = call
      const wasMade = record.wasMade || isUnsure
      const asked = new URLSearchParams(typeof init?.body === 'string' ? init.body : '')
      const isMarked = record.method === 'chat.postMessage'
      const isShown = isMarked || record.method === 'chat.startStream' || record.files.length > 0
      const isFindable = isShown && !record.unseen
      const found = wasMade && isFindable && record.answer === undefined && (await find(call, asked))
      if (found) record.answer = found
      record.wasMade = true
      if (found || record.answer === undefined) await keep(call)
      if (record.answer !== undefined) return answered(record.answer)
      const own = parseJson(asked.get('metadata') ?? '')
      if (isMarked) asked.set('metadata', JSON.stringify(marked({ key, part: record.part }, own)))
      const response = await fetch(input, isMarked ? { ...init, body: asked.toString() } : init)
      const answer = await response.clone().text()
      const error = textAt(parseJson(answer), 'error') ?? ''
      const isThere = wasMade && DONE.test(error)
      if (isThere) record.answer = '{"ok":true}'
      // Slack repeats the whole post.
      else if (response.ok && error === '') record.answer = isMarked ? postedAt(parseJson(answer)) : answer
      else if (response.status < 500 && !MAYBE_DONE.test(error)) record.wasMade = false
      await keep(call)
      return isThere ? answered('{"ok":true}') : response
    }

    return async (input, init) => {
      signal.throwIfAborted()
      const url = String(input)
      const [, method = ''] = url.startsWith(apiUrl)
        ? (/^\/?([\w.]*)/.exec(url.slice(apiUrl.length)) ?? [])
        : []
      const what = responseUrls.includes(url) ? 'response_url' : method
      if (!ONCE.test(what)) return fetch(input, init)
      const call = await claim(what, String(init?.body))
      try {
        return await make(call, input, init)
      } finally {
        // Made again as it was, as Bolt's client does, it is the same call.
        if (call.record.answer === undefined) open.push({ ...call, isOld: false })
      }
    }
  }

  return {
    /** Ends when `action` does or `signal` aborts. After a good end what is still called, such as by timers, is of no run. */
    async during(run: Run, action: () => Promise<unknown>): Promise<void> {
      let current = fetchIn(run)
      await inTime(
        fetching.run((input, init) => current(input, init), action),
        run.signal,
      )
      if (!run.signal.aborted) current = fetch
    },
    /** Whether something was called that may have happened, and nobody can tell. */
    isUnclear: async (key: string): Promise<boolean> =>
      (await read(key)).some(({ record }) => record.wasMade && record.unseen && !record.answer),
  }
}

/** Opens the direct messages of the bot with a user, or finds them: Slack answers the same each time. */
export async function openDirect(user: string, { api }: Workspace): Promise<string> {
  const answer = await api.conversations.open({ users: user })
  return answer.channel?.id ?? user
}

/** The metadata by which a post is found again; `own` is what its sender puts there besides. */
export const marked = ({ key, part }: { key: string; part: number }, own?: unknown) => ({
  event_type: textAt(own, 'event_type') ?? 'trivium_reply',
  event_payload: { ...objectAt(own, 'event_payload'), trivium_key: key, trivium_part: part },
})

/**
 * Looks for what carries a key, in a thread or in the newest of a channel: its posts by part, whether one of these files was
 * shared, and the last stream of ours that has not ended. Not `complete`: there is more than is read.
 */
export async function findPosts(
  key: string,
  { api, botUser }: Workspace,
  { channel, thread }: Pick<Target, 'channel' | 'thread'>,
  files: readonly string[] = [],
) {
  const query = defined({ channel, ts: thread, limit: 200, include_all_metadata: true })
  const { messages, isCut } = await readHistory(api, query, MAX_READ)
  const posts = new Map<unknown, string>()
  const streams = messages.filter((each) => each.streaming_state === 'in_progress' && each.user === botUser)
  for (const message of messages) {
    const mark = objectAt(message, 'metadata.event_payload')
    if (mark.trivium_key === key) posts.set(mark.trivium_part, textAt(message, 'ts') ?? '')
  }
  const shared = messages.some((each) =>
    objectsAt(each, 'files').some(({ id }) => files.includes(String(id))),
  )
  return { posts, shared, stream: textAt(streams.at(-1), 'ts'), complete: !isCut }
}

/** A key that somebody chose, as part of a name on the store. */
export const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

/** What of Slack's answer to a post is kept. */
function postedAt(answer: unknown): string {
  const [channel, ts] = [textAt(answer, 'channel'), textAt(answer, 'ts')]
  return JSON.stringify({ ok: true, channel, ts, message: { ts } })
}

const answered = (body: string) => new Response(body, { headers: { 'content-type': 'application/json' } })
