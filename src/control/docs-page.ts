import { isJsonObject, pathGet } from '../core/json.ts'

/** The description of the API as a page: one heading a call, one row an argument. Nothing is loaded from elsewhere. */
export function docsPage(document: { info: { version: string }; paths: object; components: object }): string {
  const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(Object(operations)).map(([method, operation]) => {
      const reference = pathGet(operation, 'requestBody.content.application/json.schema.$ref')
      const schema = pathGet(document.components, `schemas.${String(reference).split('/').at(-1)}`)
      const id = escapeHtml(`${method}${path}`)
      return `<h2 id="${id}"><a href="#${id}"><code>${method.toUpperCase()} ${escapeHtml(path)}</code></a></h2>
<p>${escapeHtml(pathGet(operation, 'summary'))}</p>${argumentsOf(schema)}`
    }),
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trivium: the control API</title><link rel="stylesheet" href="console.css"><link rel="icon" href="data:,"></head>
<body><header><h1>The control API of Trivium ${escapeHtml(document.info.version)}</h1></header>
<p>Send <code>authorization: Bearer TOKEN</code>, with the token from <code>&lt;data dir&gt;/control-token</code>, and arguments as
JSON. An answer is <code>{"result"}</code> or <code>{"error":{"code","message"}}</code>. For programs: <a href="openapi.json">openapi.json</a>.</p>
${calls.join('\n')}
</body></html>`
}

function argumentsOf(schema: unknown): string {
  const properties = pathGet(schema, 'properties')
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return ''
  const required = new Set([pathGet(schema, 'required')].flat())
  const rows = Object.entries(properties).map(([name, property]) => {
    const { type, enum: values, default: otherwise, description } = Object(property)
    const need = required.has(name) ? 'required' : otherwise === undefined ? '' : JSON.stringify(otherwise)
    const kind = type ?? (values ? JSON.stringify(values) : 'any')
    return `<tr><td><code>${escapeHtml(name)}</code></td>${[kind, need, description].map((text) => `<td>${escapeHtml(text)}</td>`).join('')}</tr>`
  })
  return `<table><tr><th>argument</th><th>type</th><th>default</th><th></th></tr>${rows.join('')}</table>`
}

function escapeHtml(value: unknown): string {
  return String(value ?? '').replaceAll(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
