import { AsyncLocalStorage } from 'node:async_hooks'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { objectsAt, parseJson, textAt } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { findPosts, METADATA_TYPE } from '../outbound/posts.ts'
import type { Workspaces } from '../workspaces.ts'

/** One run of the listeners for a message. */
export type Run = { message: Message; route: string; signal: AbortSignal }

/** What must not happen twice. Everything else reads, or sets what is set already. */
const ONCE =
  /^(chat\.(post|me|schedule|start|append|stop)|files\.(complete|remote)|(reactions|pins|bookmarks|reminders)\.add|conversations\.(create|invite)|views\.(open|push)|functions\.complete|response_url)/

/** A little longer than the message is known. */
const KEPT = 8 * 86_400_000

const recordSchema = z.object({
  /** What Slack answered; absent until it has. */
  answer: z.string().exactOptional(),
})

/**
 * Calls Slack for listeners, by the `fetch` of Bolt's clients, so that a run which is repeated, after a failure or a crash,
 * does not do again what it did: the n-th call of a method in the runs of one message is one call, whatever it says, and
 * gets the first answer again. A post whose answer was lost is looked for.
 */
export function createPosts(apiUrl: string, { kv, gateway }: TransportDeps, workspaces: Workspaces) {
  const runs = new AsyncLocalStorage<Run & { counts: Map<string, number> }>()

  const methodOf = (url: string, { message }: Run): string => {
    if (url.startsWith(apiUrl)) return url.slice(apiUrl.length).split('?')[0] ?? ''
    const { payload } = message.data
    const answers = [textAt(payload, 'response_url')].concat(
      objectsAt(payload, 'response_urls').map((each) => textAt(each, 'response_url')),
    )
    return answers.includes(url) ? 'response_url' : ''
  }

  /** The answer to a post that may have been made; undefined where there is none. */
  const find = async ({ message }: Run, mark: Mark, asked: URLSearchParams): Promise<string | undefined> => {
    const channel = asked.get('channel') ?? ''
    const workspace = workspaces.find(textAt(message.data, 'team') ?? '') ?? workspaces.only()
    if (!workspace) return undefined
    const place = defined({ channel, thread: asked.get('thread_ts') ?? undefined })
    const { posts, complete } = await findPosts(mark.key, workspace, place)
    const ts = posts.get(mark.part)
    if (ts !== undefined) return JSON.stringify({ ok: true, channel, ts, message: { ts } })
    if (complete) return undefined
    const reason = 'what was posted since is more than can be read'
    throw new TriviumError('send_ambiguous', { gateway, key: mark.key, reason })
  }

  const once: typeof fetch = async (input, init) => {
    const run = runs.getStore()
    run?.signal.throwIfAborted()
    const method = run ? methodOf(String(input), run) : ''
    if (!run || !ONCE.test(method)) return fetch(input, init)
    const part = run.counts.get(method) ?? 0
    run.counts.set(method, part + 1)
    const mark = { key: `${run.message.id}:${run.route}`, part }
    const name = `slack/${gateway}/bolt/${mark.key}:${method}:${part}`
    const kept = await kv.get(name)
    const record = kept && recordSchema.parse(kept.value)
    const isPost = method === 'chat.postMessage' && typeof init?.body === 'string'
    const asked = new URLSearchParams(isPost ? String(init.body) : '')
    const known = record && (record.answer ?? (isPost ? await find(run, mark, asked) : undefined))
    if (known !== undefined) return new Response(known, { headers: JSON_TYPE })
    await kv.set(name, {}, { ttl: KEPT })
    if (isPost && !asked.has('metadata')) {
      asked.set('metadata', JSON.stringify({ event_type: METADATA_TYPE, event_payload: mark }))
    }
    const response = await fetch(input, isPost ? { ...init, body: asked.toString() } : init)
    const answer = await response.text()
    const error = textAt(parseJson(answer), 'error') ?? ''
    // It may have been done, and only the answer was lost.
    const isDone = record !== undefined && error.startsWith('already_')
    const told = isDone ? '{"ok":true}' : answer
    if (response.ok && (isDone || error === '')) await kv.set(name, { answer: told }, { ttl: KEPT })
    else await kv.delete(name)
    const { status, statusText, headers } = response
    return new Response(told, { status, statusText, headers: headersOf(headers) })
  }

  return {
    fetch: once,
    /** Runs listeners; whatever they call is of this run. */
    during: <T>(run: Run, action: () => Promise<T>): Promise<T> =>
      runs.run({ ...run, counts: new Map() }, action),
  }
}

type Mark = { key: string; part: number }

const JSON_TYPE = { 'content-type': 'application/json' }

/** The body is unpacked. */
function headersOf(given: Headers): Headers {
  const headers = new Headers(given)
  for (const name of ['content-encoding', 'content-length']) headers.delete(name)
  return headers
}
