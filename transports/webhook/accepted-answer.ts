import { z } from 'zod'
import { reasonOf } from '../../src/core/errors.ts'
import { type HttpAnswer, httpSchema, readHttpAnswer } from './http-answer.ts'

const response = httpSchema
  .extend({ status: z.int('expected a number from 200 to 299').min(200).max(299).default(200) })
  .superRefine((answer, context) => {
    try {
      responseOf('', answer)
    } catch (error) {
      context.addIssue({ code: 'custom', message: reasonOf(error), input: answer })
    }
  })

/** `answer:` of a webhook gateway: a text, or a response with a status that says that all is well. */
export const acceptedAnswer = z.union([
  z.string().transform((body) => ({ status: 200, headers: {}, body })),
  response,
])

/** The response to an accepted delivery. Throws `send_rejected` if it breaks a rule of HTTP. */
export function responseOf(gateway: string, answer: z.output<typeof acceptedAnswer>): HttpAnswer {
  return readHttpAnswer(gateway, JSON.parse(JSON.stringify(answer)))
}
