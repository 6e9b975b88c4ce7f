import type { LanguageModelMiddleware } from 'ai'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { formatDuration } from '../../core/units.ts'

type Stream = NonNullable<LanguageModelMiddleware['wrapStream']>
export type Model = Parameters<Stream>[0]['model']
export type Candidate = { id: string; model: Model }
/** A failed model. */
export type FailedModel = { model: string; error: unknown }

type Streamed = Awaited<ReturnType<Stream>>
type Part = Streamed['stream'] extends ReadableStream<infer One> ? One : never

/** Stream parts before any content. */
const PREAMBLE = /^(stream-start|response-metadata|raw|text-start|reasoning-start)$/

/**
 * Switches to the next model if one refuses, is unreachable, or is silent for its share of `timeout` (ms) before the step produced any
 * content; the rest of the run stays with that model. `retries`: SDK retries per step. If all fail, the error names each.
 */
export function createFailover(run: {
  candidates: readonly Candidate[]
  /** Models that could not be called at all. */
  failed: FailedModel[]
  retries: number
  timeout: number
  log: Log
}) {
  const { candidates, failed, retries, timeout, log } = run
  const share = timeout / candidates.length
  /** The model that answered each requested step. */
  const answered: string[] = []
  let at = 0
  let attempts = 0

  const wrapStream: Stream = async ({ params }) => {
    for (;;) {
      const candidate = candidates[at]
      if (!candidate) throw new Error('there is no usable model')
      const next = candidates[at + 1]
      try {
        const streamed = await begin(candidate.model, params, next && share)
        answered.push(candidate.id)
        attempts = 0
        return streamed
      } catch (error) {
        if (params.abortSignal?.aborted) throw error
        attempts++
        if (attempts <= retries && pathGet(error, 'isRetryable') === true) throw error
        if (!next && failed.length === 0) throw error
        failed.push({ model: candidate.id, error })
        if (!next) throw failedAll(failed)
        log.warn(
          { model: candidate.id, next: next.id, reason: reasonOf(error) },
          'a model failed; trying the next one',
        )
        at++
      }
    }
  }
  const middleware: LanguageModelMiddleware = { specificationVersion: 'v4', wrapStream }
  return {
    middleware,
    /** The model that answered a step of this run; default: the first candidate. */
    modelOf: (step: number) => answered[step] ?? candidates[0]?.id ?? '',
  }
}

/** Resolves at the model's first content. Rejects with an earlier error, or after `patience` (ms) of silence. */
async function begin(model: Model, params: Parameters<Stream>[0]['params'], patience: number | undefined) {
  const late = new AbortController()
  const say = () => late.abort(new Error(`it sent nothing for ${formatDuration(Math.round(patience ?? 0))}`))
  const timer = patience === undefined ? undefined : setTimeout(say, patience)
  const signals = [late.signal, ...(params.abortSignal ? [params.abortSignal] : [])]
  try {
    const streamed = await model.doStream({ ...params, abortSignal: AbortSignal.any(signals) })
    return { ...streamed, stream: await heard(streamed.stream) }
  } catch (error) {
    throw late.signal.aborted ? late.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the stream after its first content. Rejects with an earlier error. */
async function heard(stream: ReadableStream<Part>): Promise<ReadableStream<Part>> {
  const parts = stream.values()
  const held: Part[] = []
  for (let isHeard = false; !isHeard; ) {
    const { done, value } = await parts.next()
    if (done) break
    if (value.type === 'error') {
      void parts.return?.()
      throw value.error
    }
    held.push(value)
    isHeard = !PREAMBLE.test(value.type)
  }
  const all = async function* () {
    yield* held
    for await (const part of parts) yield part
  }
  return ReadableStream.from(all())
}

/** Whether a failure is permanent: a wrong key, an unknown model. */
export function isForGood(error: unknown): boolean {
  if (error instanceof TriviumError) return !error.retryable
  return pathGet(error, 'isRetryable') === false
}

/** Combines the errors of all models; retryable if one of them is. */
export function failedAll(failed: readonly FailedModel[]): TriviumError {
  const model = failed.map((one) => one.model).join(', ')
  const reason = failed.map((one) => `${one.model}: ${reasonOf(one.error)}`).join('; ')
  const code = failed.every(({ error }) => isForGood(error)) ? 'model_unusable' : 'model_failed'
  return new TriviumError(code, { model, reason }, { cause: failed.at(-1)?.error })
}
