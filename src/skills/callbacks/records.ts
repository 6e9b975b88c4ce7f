import { z } from 'zod'

/** What the store keeps of a callback. Times are Unix ms. */
export const callbackRecord = z.object({
  timeout: z.number(),
  expiresAt: z.number(),
  rootId: z.string().exactOptional(),
  released: z.boolean(),
})

/** What the store keeps of one invocation of a callback, until its caller has the answer or has given up. */
export const invocationRecord = z.object({
  id: z.string(),
  args: z.json(),
  status: z.enum(['pending', 'taken', 'answered', 'failed']),
  result: z.json(),
})

export type CallbackRecord = z.infer<typeof callbackRecord>
export type InvocationRecord = z.infer<typeof invocationRecord>

export const callbackKey = (ref: string) => `callback:${ref}`
export const invocationsPrefix = (ref: string) => `callback-call:${ref}:`
/** Written with each invocation, so that responders on any daemon wake. */
export const bellKey = (ref: string) => `callback-bell:${ref}`
export const rootKey = (rootId: string, ref: string) => `callback-root:${rootId}:${ref}`
