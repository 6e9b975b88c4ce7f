import { inputRequired, inputResponse, type ServerContext } from '@modelcontextprotocol/server'
import type { Call, Question } from '../../core/call.ts'

/** Asks the client's person. Resolves with undefined where they give no answer. */
export type Asks = NonNullable<Call['asks']>

export type Responses = Parameters<typeof inputResponse>[0]

/** What a call asks its client's person and has no answer to yet. `changed` is called when a question comes or goes. */
export function createQuestions(changed: () => void, ended: AbortSignal) {
  const questions = new Map<string, Question & { answer(given: string | undefined): void }>()
  let count = 0

  const answered = (key: string, given: string | undefined) => {
    const asked = questions.get(key)
    if (!questions.delete(key)) return
    changed()
    asked?.answer(given)
  }

  const asks: Asks = (question, signal) => {
    const key = `question-${++count}`
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    questions.set(key, { ...question, answer: resolve })
    const over = AbortSignal.any([signal, ended])
    over.addEventListener('abort', () => answered(key, undefined))
    if (over.aborted) answered(key, undefined)
    else changed()
    return promise
  }

  return {
    asks,
    areOpen: () => questions.size > 0,
    /** The open questions, for the client. */
    requests: () =>
      Object.fromEntries([...questions].map(([key, asked]) => [key, inputRequired.elicit(formOf(asked))])),
    /** Hands on what the client's person said to what is asked. */
    tell(responses: Responses): void {
      for (const key of Object.keys(responses ?? {})) {
        const [asked, response] = [questions.get(key), inputResponse(responses, key)]
        answered(key, asked && response.kind === 'elicit' ? answerIn(response, asked) : undefined)
      }
    },
  }
}

function formOf({ question, options }: Question) {
  const answer = { type: 'string' as const, title: 'Answer', ...(options && { enum: [...options] }) }
  const requestedSchema = { type: 'object' as const, properties: { answer }, required: ['answer'] }
  return { message: question, requestedSchema }
}

/** What the person said; undefined where they gave no answer, or one that there is not. */
function answerIn({ action, content }: Answer, { options }: Question): string | undefined {
  const answer = action === 'accept' ? content?.answer : undefined
  const isOne = typeof answer === 'string' && (options?.includes(answer) ?? true)
  return isOne ? answer : undefined
}

type Answer = { action: string; content?: Record<string, unknown> | undefined }

/** What the SDK is given where the call's own end counts: it wants a number. */
const NEVER = 2 ** 31 - 1

/** Asks by the older protocol: within the request, which goes on meanwhile. A client that fails to ask gives no answer. */
export function asksWithin(mcpReq: ServerContext['mcpReq'], call: AbortSignal): Asks {
  return async (question, signal) => {
    const options = { signal: AbortSignal.any([signal, call]), timeout: NEVER }
    const said = mcpReq.send({ method: 'elicitation/create', params: formOf(question) }, options)
    return said.then(
      (response) => answerIn(response, question),
      () => undefined,
    )
  }
}
