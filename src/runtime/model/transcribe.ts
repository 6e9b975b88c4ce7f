import { reasonOf, TriviumError } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import { loadPart } from '../../core/parts.ts'
import { defined } from '../../lib/defined.ts'
import type { ModelSources } from './resolve-models.ts'

/** A transcript and its usage. The tokens are 0 if the provider does not report them. */
export type Transcribed = {
  text: string
  language?: string
  seconds?: number
  inputTokens: number
  outputTokens: number
}

export type TranscriptionModel = {
  /** `openai:…` or `openai-compatible:…`. */
  model: string
  baseUrl?: string | undefined
  apiKey?: string | undefined
  language?: string | undefined
}

const RETRIES = 1

/**
 * Transcribes a recording with a model. Throws `model_unusable` if the model cannot be used or
 * refuses, and `model_failed` if a retry may help.
 */
export async function transcribeAudio(
  { model: id, language, ...own }: TranscriptionModel,
  env: ModelSources['env'],
  audio: Uint8Array,
  signal: AbortSignal,
): Promise<Transcribed> {
  const [, provider = '', name = ''] = /^([^:]+):(.+)$/s.exec(id) ?? []
  const { APICallError, RetryError, transcribe } = await loadPart('model', () => import('ai'))
  const model = await resolve(id, provider, name, own, env)
  try {
    const transcript = await transcribe({
      model,
      audio,
      abortSignal: signal,
      maxRetries: RETRIES,
      ...(language === undefined ? {} : { providerOptions: { openai: { language } } }),
    })
    const usage = pathGet(transcript.responses[0], 'body.usage')
    const count = (key: string) => Number(pathGet(usage, key) ?? 0)
    return {
      text: transcript.text.trim(),
      ...defined({ language: transcript.language, seconds: transcript.durationInSeconds }),
      inputTokens: count('input_tokens'),
      outputTokens: count('output_tokens'),
    }
  } catch (error) {
    const last = RetryError.isInstance(error) ? error.lastError : error
    const isPermanent = APICallError.isInstance(last) && !last.isRetryable
    const reason = reasonOf(last)
    throw new TriviumError(
      isPermanent ? 'model_unusable' : 'model_failed',
      { model: id, reason },
      { cause: error },
    )
  }
}

async function resolve(
  id: string,
  provider: string,
  name: string,
  { baseUrl, apiKey: key }: Pick<TranscriptionModel, 'baseUrl' | 'apiKey'>,
  env: ModelSources['env'],
) {
  const unusable = (reason: string) => new TriviumError('model_unusable', { model: id, reason })
  if (!/^openai(-compatible)?$/.test(provider))
    throw unusable('known for transcription: openai, openai-compatible')
  const prefix = provider.toUpperCase().replaceAll('-', '_')
  const apiKey = (key ?? env[`${prefix}_API_KEY`]) || undefined
  const baseURL = (baseUrl ?? env[`${prefix}_BASE_URL`]) || undefined
  if (provider === 'openai' && !apiKey) throw unusable('set OPENAI_API_KEY, in the environment or in .env')
  if (provider !== 'openai' && !baseURL) throw unusable(`set ${prefix}_BASE_URL, or \`base-url\``)
  // Compatible servers need no key, but the SDK requires one.
  const settings = defined({ apiKey: apiKey ?? 'none', baseURL })
  return (await import('@ai-sdk/openai')).createOpenAI(settings).transcription(name)
}
