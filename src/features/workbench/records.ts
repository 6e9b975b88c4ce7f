import { z } from 'zod'

const nonEmpty = z.string().min(1)
const lines = z.array(z.string())

/** What the next workbench session needs to continue; see docs/workbench.md. */
export const workbenchStateSchema = z.strictObject({
  active_task_id: z.string().nullable(),
  touched_files: lines.meta({ uniqueItems: true }),
  assumptions: lines,
  risks: lines,
  next_action: z.string(),
})

const taskFields = {
  id: nonEmpty,
  title: nonEmpty,
  status: z.enum(['open', 'claimed', 'done']),
  owner: nonEmpty.exactOptional(),
  result: z.string().exactOptional(),
}

/**
 * A task on the board: something to build, with its acceptance criteria, or something to review.
 */
export const taskSchema = z.discriminatedUnion('kind', [
  z.strictObject({ ...taskFields, kind: z.literal('build'), acceptance: lines.min(1) }),
  z.strictObject({
    ...taskFields,
    kind: z.literal('review'),
    target: nonEmpty,
    reviewer: nonEmpty.exactOptional(),
  }),
])
export type WorkbenchTask = z.infer<typeof taskSchema>
