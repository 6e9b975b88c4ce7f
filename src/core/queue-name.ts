import { z } from 'zod'

/** The name of a BullMQ queue. */
export const queueName = z
  .string()
  .regex(
    /^[^:\s][^:]{0,99}$/,
    'expected the name of a BullMQ queue: 1 to 100 characters, without :, not beginning with a space',
  )
