import { objectsIn, parseJson, textAt } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { neverConnected } from '../../../src/lib/never-connected.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { type Fetch, ifRefused, MAYBE_DONE, runFetch } from '../api.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces/workspace.ts'
import { type Call, createCallRecords } from './call-records.ts'
import { createClaims } from './claims.ts'
import { findPosts, openDirect, withMark } from './find-posts.ts'
import { fingerprint, isDone, kindOf, RESPONSE_URL } from './methods.ts'
import { postedAt, storableAnswer } from './stored-answer.ts'

/** A run of repeatable work. */
type Run = {
  /** The key of the work, the same in every run. */
  key: string
  /** The workspace in which to look for its posts. */
  workspace: Workspace | undefined
  /** Response URLs it may use besides the Web API. */
  responseUrls: readonly (string | undefined)[]
  /** No calls are made after it aborts. */
  signal: AbortSignal
  /** Whether the store may have lost records of an earlier run. */
  isUnsure?: boolean
}

/** The parts of a run that a call needs. `keep` records the call. */
type Calling = Pick<Run, 'key' | 'workspace' | 'isUnsure'> & { keep(call: Call): Promise<void> }

/**
 * Makes the Slack calls of some work (sending a reply, listeners of a Bolt app) safe to repeat
 * after a failure or crash. Each call with effects is recorded before it is made, and its answer
 * afterwards. A repeated run gets the recorded answers; `methods.ts` defines which calls are the
 * same. If a recorded call has no answer, its effect is looked for in Slack where that is possible.
 * Otherwise it is made again, and errors which say that it was already done count as success.
 */
export function createCalls({ 'api-url': apiUrl }: Pick<SlackOptions, 'api-url'>, deps: TransportDeps) {
  const records = createCallRecords(deps)

  /** The `fetch` function of a run. */
  const fetchIn = (run: Run): Fetch => {
    const { claim, release } = createClaims(run.key, records, deps.log)
    const calling = { ...run, keep: (call: Call) => records.keep(run.key, call) }
    return async (input, given) => {
      run.signal.throwIfAborted()
      const url = String(input)
      const method = methodOf(url, apiUrl, run.responseUrls)
      const init = method === RESPONSE_URL ? { ...given, redirect: 'error' as const } : given
      if (method === '' || kindOf(method) === 'free') return fetch(input, init)
      const args = new URLSearchParams(String(init?.body))
      const call = await claim(method, fingerprint(method, url, args))
      if (!call) return fetch(input, init)
      try {
        return await answerTo(call, args, calling, { input, init })
      } finally {
        if (call.answer === undefined) release(call)
      }
    }
  }

  return {
    /**
     * Runs `action` until it ends or `signal` aborts, and records its Slack calls. Calls after a
     * successful end, such as from timers, belong to no run.
     */
    async recordDuring(run: Run, action: () => Promise<unknown>): Promise<void> {
      let current = fetchIn(run)
      await inTime(
        runFetch.run((input, init) => current(input, init), action),
        run.signal,
      )
      if (!run.signal.aborted) current = fetch
    },
    /**
     * Whether a call without an answer may have taken effect, and whether that cannot be checked.
     */
    async doubt(key: string) {
      const calls = await records.read(key)
      const unanswered = calls.filter(({ wasMade, answer }) => wasMade && answer === undefined)
      return { mayBeMade: unanswered.length > 0, isUnclear: unanswered.some(({ unseen }) => unseen) }
    },
  }
}

/** The Web API method of a URL; empty for other URLs. */
function methodOf(url: string, apiUrl: string, responseUrls: Run['responseUrls']): string {
  if (responseUrls.includes(url)) return RESPONSE_URL
  if (!url.startsWith(apiUrl)) return ''
  return /^\/?([\w.]*)/.exec(url.slice(apiUrl.length))?.[1] ?? ''
}

/**
 * The recorded answer to a call, or the one found in Slack; otherwise makes the call and returns
 * its answer.
 */
async function answerTo(
  call: Call,
  args: URLSearchParams,
  run: Calling,
  { input, init }: { input: Parameters<Fetch>[0]; init: Parameters<Fetch>[1] },
): Promise<Response> {
  if (call.answer !== undefined) return responseWith(call.answer)
  const mayBeMade = call.wasMade || run.isUnsure === true
  const found = mayBeMade && canBeFound(call) ? await find(call, args, run) : undefined
  call.wasMade = true
  if (found !== undefined) {
    call.answer = found
    await run.keep(call)
    return responseWith(found)
  }
  // The files are recorded, so that they can be looked for after a crash. Each run uploads them
  // again, with new ids.
  call.files = objectsIn(parseJson(args.get('files') ?? '')).map(({ id }) => String(id))
  await run.keep(call)
  const metadata = parseJson(args.get('metadata') ?? '')
  if (isPost(call))
    args.set('metadata', JSON.stringify(withMark({ key: run.key, part: call.part }, metadata)))
  const response = await fetch(input, isPost(call) ? { ...init, body: args.toString() } : init).catch(
    async (error) => {
      if (neverConnected(error)) await run.keep(Object.assign(call, { wasMade: false }))
      throw error
    },
  )
  const answer = await response.clone().text()
  const error = textAt(parseJson(answer), 'error') ?? ''
  const outcome = outcomeOf(response, error, mayBeMade && isDone(call.method, error))
  if (outcome === 'done earlier') call.answer = DONE
  // The answer to a post contains the whole post, but only its place is needed.
  if (outcome === 'answered')
    call.answer = isPost(call) ? postedAt(parseJson(answer)) : storableAnswer(answer)
  if (outcome === 'refused') call.wasMade = false
  await run.keep(call)
  return outcome === 'done earlier' ? responseWith(DONE) : response
}

/**
 * The outcome of a call. If it is unknown, the next run looks for the effect, or makes the call
 * again.
 */
function outcomeOf(
  { ok, status }: Pick<Response, 'ok' | 'status'>,
  error: string,
  wasDoneEarlier: boolean,
): 'done earlier' | 'answered' | 'refused' | 'unknown' {
  if (wasDoneEarlier) return 'done earlier'
  if (ok && error === '') return 'answered'
  return status < 500 && !MAYBE_DONE.test(error) ? 'refused' : 'unknown'
}

/** Answer to a call that Slack refuses because it was already made. */
const DONE = '{"ok":true}'

const isPost = ({ method }: Call) => method === 'chat.postMessage'

const canBeFound = (call: Call) =>
  !call.unseen && (isPost(call) || call.method === 'chat.startStream' || call.files.length > 0)

/**
 * Finds in Slack the answer to a call that may have been made; undefined if it was not, or without
 * a workspace in which to look for it. Rejects if it is unknown whether it was made.
 */
async function find(
  call: Call,
  args: URLSearchParams,
  { key, workspace, keep }: Calling,
): Promise<string | undefined> {
  const { method, part, files } = call
  const to = args.get('channel') ?? args.get('channel_id') ?? ''
  if (!workspace) return undefined
  const channel = /^[UW]/.test(to) ? await openDirect(to, workspace) : to
  const place = defined({ channel, thread: args.get('thread_ts') ?? undefined })
  const found = await findPosts(key, workspace, place, files).catch(ifRefused)
  const timestamps: Record<string, string | undefined> = {
    'chat.startStream': found?.stream,
    'chat.postMessage': found?.posts.get(part),
  }
  const ts = timestamps[method]
  if (ts !== undefined) return postedAt({ channel, ts })
  if (found?.isShared) return JSON.stringify({ ok: true, files: files.map((id) => ({ id })) })
  if (found?.isComplete) return undefined
  call.unseen = true
  await keep(call)
  throw new Error(
    'it is unknown whether it was posted: too many posts followed, or the channel cannot be read',
  )
}

const responseWith = (body: string) => new Response(body, { headers: { 'content-type': 'application/json' } })
