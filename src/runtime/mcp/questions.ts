import { inputRequired, inputResponse, type ServerContext } from '@modelcontextprotocol/server'
import type { Call, Question } from '../../core/call.ts'
import { LONGEST_TIMER } from '../../core/units.ts'

/** Asks the user of the client. Resolves with undefined if they do not answer. */
export type AskUser = NonNullable<Call['askUser']>

export type Responses = Parameters<typeof inputResponse>[0]

/**
 * The questions that a call has for the user of the client. `changed` is called whenever a question
 * is added or closed. `ended` aborts when the call ends.
 */
export function createQuestions(changed: () => void, ended: AbortSignal) {
  const questions = new Map<string, Question & { resolve(answer: string | undefined): void }>()
  let count = 0

  const close = (key: string, answer: string | undefined) => {
    const question = questions.get(key)
    if (!questions.delete(key)) return
    changed()
    question?.resolve(answer)
  }

  const askUser: AskUser = (question, signal) => {
    const key = `question-${++count}`
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    questions.set(key, { ...question, resolve })
    const aborted = AbortSignal.any([signal, ended])
    aborted.addEventListener('abort', () => close(key, undefined))
    if (aborted.aborted) close(key, undefined)
    else changed()
    return promise
  }

  return {
    askUser,
    areOpen: () => questions.size > 0,
    /** The open questions in the form that clients expect. */
    requests: () =>
      Object.fromEntries([...questions].map(([key, one]) => [key, inputRequired.elicit(formOf(one))])),
    /** Passes the answers from the client to the questions. */
    takeResponses(responses: Responses): void {
      for (const key of Object.keys(responses ?? {})) {
        const question = questions.get(key)
        const response = inputResponse(responses, key)
        close(key, question && response.kind === 'elicit' ? answerIn(response, question) : undefined)
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
  const isAccepted = typeof answer === 'string' && (options?.includes(answer) ?? true)
  return isAccepted ? answer : undefined
}

type Answer = { action: string; content?: Record<string, unknown> | undefined }

/**
 * Asks by a request of the server to the client, as in the older protocol. Resolves with undefined
 * if the client fails. `call`: the signal of the tool call.
 */
export function askWithinRequest(mcpReq: ServerContext['mcpReq'], call: AbortSignal): AskUser {
  return async (question, signal) => {
    // The SDK requires a timeout, but the question ends with the call.
    const options = { signal: AbortSignal.any([signal, call]), timeout: LONGEST_TIMER }
    const sent = mcpReq.send({ method: 'elicitation/create', params: formOf(question) }, options)
    return sent.then(
      (response) => answerIn(response, question),
      () => undefined,
    )
  }
}
