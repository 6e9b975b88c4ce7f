import { z } from 'zod'
import { objectsIn, parseJson, textAt } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { type Fetch, fetching, ifRefused, MAYBE_DONE, neverConnected } from '../api.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces.ts'
import { findPosts, marked, openDirect } from './find-posts.ts'
import { boundedAnswer, postedAt } from './kept-answer.ts'
import { fingerprint, hashOf, isDone, kindOf, RESPONSE_URL } from './methods.ts'

/** Ephemeral posts, whose existence cannot be checked. */
const UNSEEN = /^(chat\.postEphemeral|response_url)$/
/** Slightly longer than messages and keys of replies are kept (ms). */
export const KEPT = 8 * 86_400_000
/** Maximum number of recorded calls over all runs; later ones are made in every run. */
const MAX_CALLS = 1000

const callSchema = z.object({
  method: z.string(),
  /** Sequence number within its method over all runs. */
  part: z.number(),
  /** Hash of its content. */
  said: z.string(),
  /** Hash of its destination. */
  place: z.string().default(''),
  /** Ids of shared files. */
  files: z.array(z.string()),
  /** Whether it may have taken effect. A refused call did not, but keeps its place in the sequence. */
  wasMade: z.boolean(),
  /** If its answer is lost, its effect cannot be checked. */
  unseen: z.boolean(),
  /** Slack's answer, once it has arrived. */
  answer: z.string().exactOptional(),
})

type Call = z.infer<typeof callSchema>

/** A run of repeatable work. */
type Run = {
  /** The same in every run. */
  key: string
  /** The workspace in which to look for its posts. */
  workspace: Workspace | undefined
  /** Response URLs it may use besides the Web API. */
  responseUrls: readonly (string | undefined)[]
  /** No calls are made after it aborts. */
  signal: AbortSignal
  /** The store may have lost records of an earlier run. */
  isUnsure?: boolean
}

/**
 * Makes Slack calls of repeatable work (sending a reply, listeners of a Bolt app) safe to repeat after a failure or crash. Each call with
 * effects is recorded before it is made, and its answer afterwards. A repeated run gets the recorded answers (`methods.ts` defines
 * the matching). A call without a recorded answer is looked up if possible; otherwise it is made again, and errors which say that
 * it was already done count as success.
 */
export function createCalls({ apiUrl }: Pick<SlackOptions, 'apiUrl'>, { kv, gateway, log }: TransportDeps) {
  const prefixOf = (key: string) => `slack/${gateway}/call/${hashOf(key)}/`

  const read = async (key: string): Promise<Call[]> => {
    const names = await kv.list(prefixOf(key), MAX_CALLS)
    const kept = await Promise.all(names.map((name) => kv.get(name)))
    const calls = kept.flatMap((entry) => (entry ? callSchema.parse(entry.value) : []))
    return calls.sort((a, b) => a.part - b.part)
  }

  /** The `fetch` function of a run. */
  const fetchIn = ({ key, workspace, responseUrls, signal, isUnsure = false }: Run): Fetch => {
    /** Calls of earlier runs that this run has not repeated yet. */
    const old = new Set<Call>()
    /** Calls of this run without an answer. Bolt's client repeats them unchanged, and they count as the same call. */
    const failed = new Set<Call>()
    const counts = new Map<string, number>()
    let recorded = 0
    const keep = (call: Call) => kv.set(`${prefixOf(key)}${call.method}/${call.part}`, call, { ttl: KEPT })
    let reading: Promise<void> | undefined

    const readOnce = async () => {
      for (const call of await read(key)) {
        old.add(call)
        recorded++
        counts.set(call.method, call.part + 1)
      }
    }

    const forget = (call: Call) => {
      for (const calls of [failed, old]) calls.delete(call)
      return call
    }

    /** The matching call of an earlier run. */
    const earlier = (method: string, { said, place }: ReturnType<typeof fingerprint>): Call | undefined => {
      const same = [...failed, ...old].find((call) => call.method === method && call.said === said)
      if (same) return forget(same)
      const others = [...old].filter((call) => call.method === method && call.place === place && call.wasMade)
      const [next] = others
      if (!next || kindOf(method) === 'switch') return undefined
      const gets = kindOf(method) === 'make' ? 'gets the answer of the call it replaces' : 'is made'
      log.warn({ key, method, gets }, 'a repeated run calls Slack with other arguments than the run before')
      if (kindOf(method) === 'make') return forget(next)
      // Later `set` calls of the earlier run must be made again.
      for (const call of others) old.delete(call)
      return undefined
    }

    const claim = async (
      method: string,
      prints: ReturnType<typeof fingerprint>,
    ): Promise<Call | undefined> => {
      reading ??= readOnce()
      await reading
      const known = earlier(method, prints)
      if (known?.wasMade) return known
      const next = counts.get(method) ?? 0
      if (!known && ++recorded > MAX_CALLS) return undefined
      const part = known?.part ?? next
      counts.set(method, Math.max(next, part + 1))
      return { method, part, ...prints, files: [], wasMade: false, unseen: UNSEEN.test(method) }
    }

    /** Finds the answer to a call that may have been made; undefined if it was not. */
    const find = async (call: Call, asked: URLSearchParams): Promise<string | undefined> => {
      const { method, part, files } = call
      const to = asked.get('channel') ?? asked.get('channel_id') ?? ''
      if (!workspace) return undefined
      const channel = /^[UW]/.test(to) ? await openDirect(to, workspace) : to
      const place = defined({ channel, thread: asked.get('thread_ts') ?? undefined })
      const found = await findPosts(key, workspace, place, files).catch(ifRefused)
      const at: Record<string, string | undefined> = {
        'chat.startStream': found?.stream,
        'chat.postMessage': found?.posts.get(part),
      }
      const ts = at[method]
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
      // A repeated upload has new ids.
      else call.files = objectsIn(parseJson(asked.get('files') ?? '')).map(({ id }) => String(id))
      await keep(call)
      if (found) return answered(found)
      const own = parseJson(asked.get('metadata') ?? '')
      if (isMarked) asked.set('metadata', JSON.stringify(marked({ key, part: call.part }, own)))
      const response = await fetch(input, isMarked ? { ...init, body: asked.toString() } : init).catch(
        async (error) => {
          if (neverConnected(error)) await keep(Object.assign(call, { wasMade: false }))
          throw error
        },
      )
      const answer = await response.clone().text()
      const error = textAt(parseJson(answer), 'error') ?? ''
      const isThere = wasMade && isDone(call.method, error)
      if (isThere) call.answer = '{"ok":true}'
      // Slack returns the whole post.
      else if (response.ok && error === '')
        call.answer = isMarked ? postedAt(parseJson(answer)) : boundedAnswer(answer)
      else if (response.status < 500 && !MAYBE_DONE.test(error)) call.wasMade = false
      await keep(call)
      return isThere ? answered('{"ok":true}') : response
    }

    const methodOf = (url: string): string => {
      if (responseUrls.includes(url)) return RESPONSE_URL
      const [, method = ''] = url.startsWith(apiUrl)
        ? (/^\/?([\w.]*)/.exec(url.slice(apiUrl.length)) ?? [])
        : []
      return method
    }

    return async (input, init) => {
      signal.throwIfAborted()
      const url = String(input)
      const method = methodOf(url)
      if (method === '' || kindOf(method) === 'free') return fetch(input, init)
      const asked = new URLSearchParams(String(init?.body))
      const call = await claim(method, fingerprint(method, url, asked))
      if (!call) return fetch(input, init)
      try {
        return await make(call, asked, input, init)
      } finally {
        if (call.answer === undefined) failed.add(call)
      }
    }
  }

  return {
    /** Runs `action` until it ends or `signal` aborts. Calls after a successful end, such as from timers, belong to no run. */
    async during(run: Run, action: () => Promise<unknown>): Promise<void> {
      let current = fetchIn(run)
      await inTime(
        fetching.run((input, init) => current(input, init), action),
        run.signal,
      )
      if (!run.signal.aborted) current = fetch
    },
    /** Whether a call may have taken effect, and whether that cannot be checked. */
    async doubt(key: string) {
      const open = (await read(key)).filter(({ wasMade, answer }) => wasMade && answer === undefined)
      return { mayBeMade: open.length > 0, isUnclear: open.some(({ unseen }) => unseen) }
    },
  }
}

const answered = (body: string) => new Response(body, { headers: { 'content-type': 'application/json' } })
