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

const callSchema = z.object({
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

type Call = z.infer<typeof callSchema>

/** One run of what may be repeated. */
type Run = {
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
    const kept = await Promise.all(names.map((name) => kv.get(name)))
    const calls = kept.flatMap((entry) => (entry ? callSchema.parse(entry.value) : []))
    return calls.sort((a, b) => a.part - b.part)
  }

  /** The `fetch` of a run. */
  const fetchIn = ({ key, workspace, responseUrls, signal, isUnsure = false }: Run): Fetch => {
    /** Of earlier runs, and not called for yet in this one. */
    const old = new Set<Call>()
    /** Of this run, and without an answer: made again as it was, as Bolt's client does, it is the same call. */
    const failed = new Set<Call>()
    const counts = new Map<string, number>()
    const keep = (call: Call) => kv.set(`${prefixOf(key)}${call.method}/${call.part}`, call, { ttl: KEPT })
    let reading: Promise<void> | undefined

    const readOnce = async () => {
      for (const call of await read(key)) {
        old.add(call)
        counts.set(call.method, call.part + 1)
      }
    }

    const claim = async (method: string, said: string, asked: URLSearchParams): Promise<Call> => {
      reading ??= readOnce()
      await reading
      const isSame = (call: Call) => call.method === method && call.said === said
      const known = [...failed, ...old].find(isSame) ?? [...old].find((call) => call.method === method)
      for (const calls of [failed, old]) if (known) calls.delete(known)
      if (known?.wasMade) return known
      const next = counts.get(method) ?? 0
      const part = known?.part ?? next
      counts.set(method, Math.max(next, part + 1))
      const files = objectsIn(parseJson(asked.get('files') ?? '')).map(({ id }) => String(id))
      return { method, part, said, files, wasMade: false, unseen: UNSEEN.test(method) }
    }

    /** The answer to a call that may have been made; undefined where it was not. */
    const find = async (call: Call, asked: URLSearchParams): Promise<string | undefined> => {
      const { method, part, files } = call
      const to = asked.get('channel') ?? asked.get('channel_id') ?? ''
      if (!workspace) return undefined
      const channel = /^[UW]/.test(to) ? await openDirect(to, workspace) : to
      const place = defined({ channel, thread: asked.get('thread_ts') ?? undefined })
      const found = await findPosts(key, workspace, place, files).catch(ifRefused)
      const ts = method === 'chat.startStream' ? found?.stream : found?.posts.get(part)
      if (ts !== undefined) return postedAt({ channel, ts })
      if (found?.shared) return JSON.stringify({ ok: true, files: files.map((id) => ({ id })) })
      if (found?.complete) return undefined
      call.unseen = true
      await keep(call)
      throw new Error('whether it was posted cannot be seen: more was since than can be read, or nothing can')
    }

    const make = async (call: Call, asked: URLSearchParams, ...[input, init]: Parameters<Fetch>) => {
      if (call.answer !== undefined) return answered(call.answer)
      const wasMade = call.wasMade || isUnsure
      const isMarked = call.method === 'chat.postMessage'
      const isShown = isMarked || call.method === 'chat.startStream' || call.files.length > 0
      const found = wasMade && isShown && !call.unseen && (await find(call, asked))
      call.wasMade = true
      if (found) call.answer = found
      await keep(call)
      if (found) return answered(found)
      const own = parseJson(asked.get('metadata') ?? '')
      if (isMarked) asked.set('metadata', JSON.stringify(marked({ key, part: call.part }, own)))
      const response = await fetch(input, isMarked ? { ...init, body: asked.toString() } : init)
      const answer = await response.clone().text()
      const error = textAt(parseJson(answer), 'error') ?? ''
      const isThere = wasMade && DONE.test(error)
      if (isThere) call.answer = '{"ok":true}'
      // Slack repeats the whole post.
      else if (response.ok && error === '') call.answer = isMarked ? postedAt(parseJson(answer)) : answer
      else if (response.status < 500 && !MAYBE_DONE.test(error)) call.wasMade = false
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
      const body = String(init?.body)
      const asked = new URLSearchParams(body)
      const call = await claim(what, hashOf(body), asked)
      try {
        return await make(call, asked, input, init)
      } finally {
        if (call.answer === undefined) failed.add(call)
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
      (await read(key)).some(({ wasMade, unseen, answer }) => wasMade && unseen && !answer),
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
