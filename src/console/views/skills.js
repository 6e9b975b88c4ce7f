import { useMemo, useState } from 'preact/hooks'
import { call, invoke } from '../lib/api.js'
import { SchemaForm } from '../lib/form.js'
import { html } from '../lib/html.js'
import { ask, Badge, Copy, Empty, Facts, Json, Problem, took, useLoaded } from '../lib/parts.js'
import { Pause } from '../lib/pause.js'
import { link } from '../lib/router.js'
import { errorsByField, fieldsOf } from '../lib/schema.js'
import { Back } from '../lib/trail.js'

/** Every skill by its name; one of them to be tried. */
export function SkillsPage({ name }) {
  const {
    value: skills,
    error,
    reload,
  } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  const [wanted, setWanted] = useState('')
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = ({ name: own, description }) =>
    words.every((word) => `${own} ${description}`.toLowerCase().includes(word))
  const own = (skills ?? [])
    .filter((skill) => fits(skill))
    .toSorted((a, b) => Number(isBuiltIn(a)) - Number(isBuiltIn(b)))
  return html`<section class=${`page skills ${name ? 'has-one' : ''}`} aria-labelledby="title">
    <div class="skill-list">
      <header class="bar"><h1 id="title">Skills</h1>
        <input type="search" aria-label="Search skills" placeholder="Search  /" value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></header>
      ${error && html`<${Problem} error=${error} retry=${reload} />`}
      <ul>${own.map(
        (
          skill,
        ) => html`<li key=${skill.name}><a data-row href=${link(['skills', skill.name])} aria-current=${skill.name === name ? 'page' : undefined}>
          <b>${skill.name}</b>${isBuiltIn(skill) && html` <span class="dim">built in</span>`}<span class="about">${skill.description}</span></a></li>`,
      )}</ul>
      ${skills && own.length === 0 && html`<${Empty} title="No skill matches." />`}
    </div>
    ${name ? html`<${Skill} key=${name} name=${name} />` : html`<div class="skill-none"><${Empty} title="Choose a skill to try it." /></div>`}
  </section>`
}

function isBuiltIn({ kind }) {
  return kind === 'builtin' || kind === 'built-in'
}

function Skill({ name }) {
  const {
    value: skill,
    error,
    reload,
  } = useLoaded((signal) => call('GET', `/v1/skills/${encodeURIComponent(name)}`, undefined, signal), [name])
  return html`<div class="skill">
    <${Back} to="skills" title="Skills" />
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${
      skill &&
      html`<h1>${name} ${skill.metadata?.annotations?.destructiveHint && html`<${Badge} kind="warn">cannot be undone<//>`}${skill.metadata?.approval && html` <${Badge} kind="warn">needs approval<//>`}</h1>
      <p>${skill.description}</p>
      ${!isBuiltIn(skill) && html`<p class="buttons"><${Pause} of=${{ skill: name }} kind="skill" name=${name} /></p>`}
      <${TryIt} skill=${skill} />
      <details><summary>What it is</summary>
        <${Facts} of=${{ kind: skill.kind, file: skill.path, layers: skill.layers?.map(layerName).join(' → ') }} />
        <${Json} value=${skill.args} label="Its JSON schema" />
      </details>`
    }
  </div>`
}

function layerName(layer) {
  return typeof layer === 'string' ? layer : layer.name
}

/** Runs it with what the form says. One that destroys says so, and asks once. */
function TryIt({ skill: { name, args: schema, metadata } }) {
  const [came, setCame] = useState()
  const [isBusy, setBusy] = useState(false)
  const fields = useMemo(() => fieldsOf(schema) ?? [], [schema])
  const isGuarded = Boolean(metadata?.approval)
  const run = async (args) => {
    const isDestructive = metadata?.annotations?.destructiveHint === true
    const question = {
      title: isGuarded ? `Request approval to run ${name}?` : `Run ${name}?`,
      body: html`<p>${isGuarded ? 'It waits under Approvals, and runs with these arguments once somebody approves it.' : 'It runs immediately, with these arguments, and cannot be undone.'}</p><${Json} value=${args} label="Arguments" />`,
      action: isGuarded ? 'Request approval' : `Run ${name}`,
      danger: isDestructive,
    }
    if ((isGuarded || isDestructive) && !(await ask(question))) return
    setBusy(true)
    const start = performance.now()
    const done = (what) => setCame({ ...what, args, ms: performance.now() - start })
    await invoke(name, args).then(
      (result) => done({ result }),
      (error) => done({ error }),
    )
    setBusy(false)
  }
  const errors = came?.error?.code === 'skill_args_invalid' ? errorsByField(fields, came.error.message) : {}
  return html`<${SchemaForm} schema=${schema} run=${run} isBusy=${isBusy} errors=${errors} />
    <div class="came" aria-live="polite">
      ${isBusy && isGuarded && html`<p>Waiting for approval. <a href=${link('approvals')}>Open Approvals</a></p>`}
      ${came?.error && html`<h2>It failed <span class="dim">after ${took(came.ms)}</span></h2><div class="problem"><p>${came.error.message} <code>${came.error.code}</code></p></div>`}
      ${came && !came.error && html`<h2>Result <span class="dim">after ${took(came.ms)}</span></h2><${Json} value=${came.result ?? null} label="Result" />`}
      ${came && html`<div class="buttons after"><${Copy} label="Copy as curl" text=${asCurl(name, came.args)} />${!came.error && html`<${Copy} label="Copy the result" text=${JSON.stringify(came.result, null, 2)} />`}</div>`}
    </div>`
}

function asCurl(name, args) {
  const body = JSON.stringify(args).replaceAll("'", `'\\''`)
  return `curl ${location.origin}/v1/skills/${name} -H "authorization: Bearer $TRIVIUM_TOKEN" -H 'content-type: application/json' -d '${body}'`
}
