import { AsyncLocalStorage } from 'node:async_hooks'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { objectsAt, parseJson, textAt } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { inTime, pause } from '../../../src/lib/pause.ts'
import { MAYBE_DONE } from '../api.ts'
import { findPosts, METADATA_TYPE } from '../outbound/posts.ts'
import type { Workspaces } from '../workspaces.ts'

/** One run of the listeners for a message. */
export type Run = { message: Message; route: string; signal: AbortSignal }

/** What must not happen twice. Everything else reads, or sets what is set already. */
const ONCE =
  /^(chat\.(post|me|schedule|start|append|stop)|files\.(complete|remote)|(reactions|pins|bookmarks|reminders)\.add|conversations\.(create|invite)|views\.(open|push)|functions\.complete|response_url)/

/** A little longer than the message is known. */
const KEPT = 8 * 86_400_000

/** `answer`: what Slack answered; absent until it has. */
const recordSchema = z.object({ answer: z.string().exactOptional() })

/**
 * Calls Slack for listeners, by the `fetch` of Bolt's clients, so that a run which is repeated, after a failure or a crash,
 * does not do again what it did: the n-th call of a method in the runs of one message is one call, whatever it says, and
 * gets the first answer again. One that failed and is repeated as it was, as Bolt's client does, is still the same call.
 * A post whose answer was lost is looked for.
 */
export function createPosts(apiUrl: string, { kv, gateway }: TransportDeps, workspaces: Workspaces) {
  /** `counts`: calls by method. `failed`: which of them failed, by what they said. `over`: it is done, and nothing is repeated. */
  type Running = Run & { counts: Map<string, number>; failed: Map<string, number[]>; over?: boolean }
  const runs = new AsyncLocalStorage<Running>()

  const methodOf = (url: string, { message: { data } }: Run): string => {
    if (url.startsWith(apiUrl)) return /^\/?([\w.]*)/.exec(url.slice(apiUrl.length))?.[1] ?? ''
    const places = [data.payload, ...objectsAt(data.payload, 'response_urls')]
    return places.some((each) => textAt(each, 'response_url') === url) ? 'response_url' : ''
  }

  /** The answer to a post that may have been made; undefined where there is none. */
  const find = async ({ message }: Run, mark: Mark, asked: URLSearchParams): Promise<string | undefined> => {
    const workspace = (await workspaces.find(textAt(message.data, 'team') ?? '')) ?? workspaces.only()
    if (!workspace) return undefined
    let channel = asked.get('channel') ?? ''
    if (/^[UW]/.test(channel)) {
      channel = (await workspace.api.conversations.open({ users: channel })).channel?.id ?? ''
    }
    const place = defined({ channel, thread: asked.get('thread_ts') ?? undefined })
    const { posts, complete } = await findPosts(mark.key, workspace, place)
    const ts = posts.get(mark.part)
    if (ts !== undefined) return JSON.stringify({ ok: true, channel, ts, message: { ts } })
    if (complete) return undefined
    const reason = 'what was posted since is more than can be read'
    throw new TriviumError('send_ambiguous', { gateway, key: mark.key, reason })
  }

  /** Waits where Slack has enough: while Bolt's client did, it would mix up the calls of several runs. */
  const ask: typeof fetch = async (input, init) => {
    const run = runs.getStore()
    for (;;) {
      if (!run?.over) run?.signal.throwIfAborted()
      const response = await fetch(input, init)
      const seconds = Number(response.headers.get('retry-after'))
      if (response.status !== 429 || !(seconds > 0)) return response
      await response.body?.cancel()
      await pause(seconds * 1000, run?.signal)
    }
  }

  const once: typeof fetch = async (input, init) => {
    const run = runs.getStore()
    const method = run && !run.over ? methodOf(String(input), run) : ''
    if (!run || !ONCE.test(method)) return ask(input, init)
    const said = `${method} ${init?.body}`
    const failed = run.failed.get(said) ?? []
    run.failed.set(said, failed)
    const count = run.counts.get(method) ?? 0
    const part = failed.shift() ?? count
    run.counts.set(method, Math.max(count, part + 1))
    try {
      const { response, isDone } = await callOnce(run, method, part, input, init)
      if (!isDone) failed.push(part)
      return response
    } catch (error) {
      failed.push(part)
      throw error
    }
  }

  type Call = [run: Run, method: string, part: number, ...asked: Parameters<typeof fetch>]
  const callOnce = async (...[run, method, part, input, init]: Call) => {
    const mark = { key: `${run.message.id}:${run.route}`, part }
    const name = `slack/${gateway}/bolt/${mark.key}:${method}:${part}`
    const kept = await kv.get(name)
    const record = kept && recordSchema.parse(kept.value)
    const isPost = method === 'chat.postMessage' && typeof init?.body === 'string'
    const asked = new URLSearchParams(isPost ? String(init.body) : '')
    const known = record && (record.answer ?? (isPost ? await find(run, mark, asked) : undefined))
    if (known !== undefined) return { response: answered(known), isDone: true }
    await kv.set(name, {}, { ttl: KEPT })
    if (isPost && !asked.has('metadata')) {
      asked.set('metadata', JSON.stringify({ event_type: METADATA_TYPE, event_payload: mark }))
    }
    const response = await ask(input, isPost ? { ...init, body: asked.toString() } : init)
    const answer = await response.clone().text()
    const error = textAt(parseJson(answer), 'error') ?? ''
    // It may have been done, and only the answer was lost.
    const wasDone = record !== undefined && error.startsWith('already_')
    const isDone = wasDone || (response.ok && error === '')
    const told = wasDone ? '{"ok":true}' : answer
    if (isDone) await kv.set(name, { answer: told }, { ttl: KEPT })
    else if (response.status < 500 && !MAYBE_DONE.test(error)) await kv.delete(name)
    return { response: wasDone ? answered(told) : response, isDone }
  }

  return {
    fetch: once,
    /**
     * Runs listeners, until they end or `signal` aborts; what they call is of this run. After it was aborted they call
     * nothing any more; after a good end, such as by a timer, as they like.
     */
    async during(run: Run, action: () => Promise<unknown>): Promise<void> {
      const running: Running = { ...run, counts: new Map(), failed: new Map() }
      await inTime(runs.run(running, action), run.signal)
      running.over = !run.signal.aborted
    },
  }
}

type Mark = { key: string; part: number }

const answered = (body: string) => new Response(body, { headers: { 'content-type': 'application/json' } })
