import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import { code, page, table } from './markdown.ts'

const INTRODUCTION = `Every call of the control API (\`http://127.0.0.1:8787\`). A running daemon serves this description as
\`/openapi.json\` and, for people, at \`/docs\`; [the control API](../api.md) explains tokens, results and errors.`

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** docs/reference/http.md: the calls of an OpenAPI description, skills apart from the rest. */
export function httpPage(openapi: JsonObject): string {
  const calls = Object.entries(isJsonObject(openapi.paths) ? openapi.paths : {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = isJsonObject(item) ? item[method] : undefined
      if (!isJsonObject(operation)) return []
      return [{ call: `${method.toUpperCase()} ${path}`, operation }]
    }),
  )
  const row = ({ call, operation }: (typeof calls)[number]) => [code(call), String(operation.summary ?? '')]
  const isSkill = ({ call }: { call: string }) => call.includes('/v1/skills/')
  return page('HTTP calls', INTRODUCTION, [
    '## The daemon',
    table(['Call', 'What it does'], calls.filter((each) => !isSkill(each)).map(row)),
    '## Skills',
    'The body is a JSON object with the arguments; [the commands](commands.md) list them.',
    table(['Call', 'What it does'], calls.filter(isSkill).map(row)),
  ])
}
