import { z } from 'zod'

/** Headers of the connection and of the body's length. A request that sets one always fails. */
const UNUSABLE = new Set(['content-length', 'transfer-encoding', 'keep-alive', 'upgrade', 'expect'])

/**
 * The setting `headers`: further headers of outgoing requests. Refuses those that no request can
 * have.
 */
export const requestHeaders = z
  .record(
    z.string().regex(/^[\w-]+$/),
    // As `fetch` does, white space around a value is removed, such as the line break at the end of
    // a file.
    z
      .string()
      .trim()
      .refine(isHeaderValue, 'expected a single line without control characters and in Latin-1')
      .describe('The value of this header.'),
  )
  .superRefine((headers, context) => {
    for (const name of Object.keys(headers)) {
      if (!UNUSABLE.has(name.toLowerCase())) continue
      context.addIssue({
        code: 'custom',
        path: [name],
        message: 'this header cannot be set',
        input: headers[name],
      })
    }
  })

function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
}
