import type { LanguageModelMiddleware } from 'ai'
import { quoteExact } from '../../lib/exact-json.ts'

/** Preserves the digits of ids that a model writes as numbers, which the AI SDK would round. */
export const exactArguments: LanguageModelMiddleware = {
  specificationVersion: 'v4',
  async wrapStream({ doStream }) {
    const { stream, ...rest } = await doStream()
    type Part = typeof stream extends ReadableStream<infer Each> ? Each : never
    const exact = new TransformStream<Part, Part>({
      transform(part, controller) {
        controller.enqueue(part.type === 'tool-call' ? { ...part, input: quoteExact(part.input) } : part)
      },
    })
    return { ...rest, stream: stream.pipeThrough(exact) }
  },
}
