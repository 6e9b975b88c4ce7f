import { z } from 'zod'

/**
 * Headers of the target, the connection and the body's length. With one of them a request fails, or
 * reaches something else than the URL says.
 */
const UNUSABLE = new Set(
  (
    'host connection proxy-connection keep-alive te trailer transfer-encoding upgrade expect ' +
    'content-length http2-settings'
  ).split(' '),
)

/**
 * The setting `headers`: further headers of outgoing requests. Refuses those that the HTTP
 * client sets itself.
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
      if (!isUnusableHeader(name)) continue
      context.addIssue({
        code: 'custom',
        path: [name],
        message: 'this header cannot be set',
        input: headers[name],
      })
    }
  })

/** Whether `requestHeaders` refuses a header of this name. */
export function isUnusableHeader(name: string): boolean {
  return UNUSABLE.has(name.toLowerCase())
}

function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text)
}
