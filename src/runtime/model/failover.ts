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

/** The types of stream parts that are not content, before the first content. */
const PREAMBLE = /^(stream-start|response-metadata|raw|text-start|reasoning-start)$/

/**
 * Switches to the next model if one refuses, is unreachable, or is silent for its share of
 * `timeout` (ms), as long as the step has no content. The rest of the run stays with the model that
 * answered. `retries`: how often the SDK repeats a step after a retryable error. If all models
 * fail, the error names each.
 */
export function createFailover(run: {
  candidates: readonly Candidate[]
  /** Models that could not be called at all. Models that fail later are added. */
  failed: FailedModel[]
  retries: number
  timeout: number
  log: Log
}) {
  const { candidates, failed, retries, timeout, log } = run
  const share = timeout / candidates.length
  /** The model that answered each requested step. */
  const answered: string[] = []
  let current = 0
  /**
   * Number of failed attempts of the current step, over all models, as the SDK counts its retries.
   */
  let attempts = 0

  const wrapStream: Stream = async ({ params }) => {
    for (;;) {
      const candidate = candidates[current]
      if (!candidate) throw new Error('there is no usable model')
      const next = candidates[current + 1]
      try {
        const streamed = await startStream(candidate.model, params, next && share)
        answered.push(candidate.id)
        attempts = 0
        return streamed
      } catch (error) {
        if (params.abortSignal?.aborted) throw error
        attempts++
        const willBeRetried = attempts <= retries && pathGet(error, 'isRetryable') === true
        if (willBeRetried) throw error
        if (!next && failed.length === 0) throw error
        failed.push({ model: candidate.id, error })
        if (!next) throw failedAll(failed)
        log.warn(
          { model: candidate.id, next: next.id, reason: reasonOf(error) },
          'a model failed; trying the next one',
        )
        current++
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

/**
 * Resolves at the model's first content. Rejects with an earlier error, or after `silence` (ms)
 * without any content.
 */
async function startStream(model: Model, params: Parameters<Stream>[0]['params'], silence?: number) {
  const silent = new AbortController()
  const onSilence = (ms: number) =>
    silent.abort(new Error(`it sent nothing for ${formatDuration(Math.round(ms))}`))
  const timer = silence === undefined ? undefined : setTimeout(onSilence, silence, silence)
  const signals = [silent.signal, ...(params.abortSignal ? [params.abortSignal] : [])]
  try {
    const streamed = await model.doStream({ ...params, abortSignal: AbortSignal.any(signals) })
    return { ...streamed, stream: await untilContent(streamed.stream) }
  } catch (error) {
    throw silent.signal.aborted ? silent.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/** Resolves with the whole stream at its first content. Rejects with an earlier error. */
async function untilContent(stream: ReadableStream<Part>): Promise<ReadableStream<Part>> {
  const parts = stream.values()
  const received: Part[] = []
  let hasContent = false
  while (!hasContent) {
    const { done, value } = await parts.next()
    if (done) break
    if (value.type === 'error') {
      void parts.return?.()
      throw value.error
    }
    received.push(value)
    hasContent = !PREAMBLE.test(value.type)
  }
  const all = async function* () {
    yield* received
    for await (const part of parts) yield part
  }
  return ReadableStream.from(all())
}

/** Whether a failure is permanent, such as a wrong key or an unknown model. */
export function isPermanent(error: unknown): boolean {
  if (error instanceof TriviumError) return !error.retryable
  return pathGet(error, 'isRetryable') === false
}

/** Combines the errors of all models to one, which is retryable if one of them is. */
export function failedAll(failed: readonly FailedModel[]): TriviumError {
  const model = failed.map((one) => one.model).join(', ')
  const reason = failed.map((one) => `${one.model}: ${reasonOf(one.error)}`).join('; ')
  const code = failed.every(({ error }) => isPermanent(error)) ? 'model_unusable' : 'model_failed'
  return new TriviumError(code, { model, reason }, { cause: failed.at(-1)?.error })
}
