import { z } from 'zod'
import { type Json, toJson } from '../../../src/core/json.ts'
import type { SkillContext } from '../../../src/core/skill.ts'

const createdSchema = z.object({ ref: z.string() })
const invocationSchema = z.object({ id: z.string(), args: z.json() }).nullable()

/** Creates a callback that `answer` answers until it is released. */
export async function createCallbackRef(
  { services, call }: SkillContext,
  answer: (args: Json) => unknown,
  label = 'callback',
) {
  const { ref } = createdSchema.parse(
    await services.operation('callbacks', 'create')({ label, timeout: 60_000, ttl: 60_000 }, call),
  )
  const serve = async () => {
    for (;;) {
      const next = invocationSchema.parse(
        await services.operation('callbacks', 'wait')({ ref, timeout: 60_000 }, call),
      )
      if (next)
        await services.operation('callbacks', 'respond')(
          { ref, id: next.id, result: toJson(answer(next.args)) },
          call,
        )
    }
  }
  // It ends with an error after the release.
  serve().catch(() => undefined)
  return { ref, release: () => services.operation('callbacks', 'release')({ ref }, call) }
}
