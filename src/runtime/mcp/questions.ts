import { inputRequired, inputResponse, type ServerContext } from '@modelcontextprotocol/server'
import type { Call, Question } from '../../core/call.ts'

/** Asks the user of the client. Resolves with undefined if they do not answer. */
export type Asks = NonNullable<Call['asks']>

export type Responses = Parameters<typeof inputResponse>[0]

/**
 * The open questions of a call to the user of the client. `changed` is called whenever a question
 * is added or closed.
 */
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
    /** The open questions in the form that clients expect. */
    requests: () =>
      Object.fromEntries([...questions].map(([key, asked]) => [key, inputRequired.elicit(formOf(asked))])),
    /** Passes the answers from the client to the questions. */
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

/** The answer; undefined if there is none, or if it is not one of the options. */
function answerIn({ action, content }: Answer, { options }: Question): string | undefined {
  const answer = action === 'accept' ? content?.answer : undefined
  const isOne = typeof answer === 'string' && (options?.includes(answer) ?? true)
  return isOne ? answer : undefined
}

type Answer = { action: string; content?: Record<string, unknown> | undefined }

/** The SDK requires a timeout; this one leaves it to the end of the call. */
const NEVER = 2 ** 31 - 1

/**
 * Asks through a request within the running call, as in the older protocol. Resolves with undefined
 * if the client fails.
 */
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
