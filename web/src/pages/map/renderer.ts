/** Draws points with WebGL2, or on a plain canvas where that is missing. */

import { CanvasRenderer } from "./canvasRenderer";
import type { Camera, Size } from "./camera";

/** What is drawn. An array is read again when it is another one; the places also when their count changes. */
export interface PointLayer {
  x: Uint16Array;
  y: Uint16Array;
  count: number;
  /** Colour of each point: an index of the palette. */
  slots: Uint8Array;
  /** RGBA of each slot; alpha 0 hides it. */
  palette: Uint8Array;
  /** 1 for selected points; empty without a selection. */
  selected: Uint8Array;
  /** Whether a higher slot is larger, and above others. */
  isRanked: boolean;
}

export interface PointRenderer {
  /** Draw the first `count` points. */
  draw(layer: PointLayer, count: number, camera: Camera, size: Size, pointSize: number): void;
  /** Wait until the picture is drawn. */
  finish(): void;
  destroy(): void;
}

const VERTEX = `#version 300 es
layout(location = 0) in vec2 place;
layout(location = 1) in vec4 kind; // slot, whether it is selected; four bytes, as devices read them unconverted
uniform vec2 middle;
uniform vec2 scale;
uniform float pointSize;
uniform bool isRanked;
uniform bool hasSelection;
uniform sampler2D palette;
out vec4 color;
void main() {
  float slot = kind.x;
  float selected = kind.y;
  color = texelFetch(palette, ivec2(int(slot), 0), 0);
  float rank = isRanked ? slot / 255.0 : 0.0;
  bool isDim = hasSelection && selected < 0.5;
  if (isDim) color.a *= 0.16;
  vec2 position = (place - middle) * scale;
  float depth = isDim ? 0.9 : 0.5 - 0.4 * rank;
  gl_Position = color.a == 0.0 ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(position, depth, 1.0);
  gl_PointSize = pointSize * (isRanked ? 0.8 + 0.9 * rank * rank : 1.0) * (hasSelection && !isDim ? 1.25 : 1.0);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 color;
out vec4 result;
void main() {
  float distance = length(gl_PointCoord - 0.5) * 2.0;
  float alpha = color.a * (1.0 - smoothstep(0.75, 1.0, distance));
  if (alpha < 0.02) discard;
  result = vec4(color.rgb * alpha, alpha);
}`;

/** Create the best renderer that the browser has. */
export function createRenderer(canvas: HTMLCanvasElement): PointRenderer {
  const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, preserveDrawingBuffer: true });
  return gl ? new WebGlRenderer(gl) : new CanvasRenderer(canvas);
}

class WebGlRenderer implements PointRenderer {
  readonly #program: WebGLProgram;
  readonly #uniforms: Record<string, WebGLUniformLocation | null>;
  readonly #buffers: WebGLBuffer[];
  #drawn: Partial<PointLayer> = {};

  constructor(readonly gl: WebGL2RenderingContext) {
    this.#program = link(gl);
    const names = ["middle", "scale", "pointSize", "isRanked", "hasSelection", "palette"];
    this.#uniforms = Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(this.#program, name)]));
    this.#buffers = [0, 1].map(() => gl.createBuffer());
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
  }

  draw(layer: PointLayer, count: number, camera: Camera, size: Size, pointSize: number): void {
    const { gl } = this;
    if (gl.isContextLost()) return;
    const ratio = resize(gl.canvas as HTMLCanvasElement, size);
    gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(this.#program);
    this.#upload(layer);
    gl.uniform2f(this.#uniforms.middle!, camera.x, camera.y);
    gl.uniform2f(this.#uniforms.scale!, (2 * camera.scale) / size.width, (-2 * camera.scale) / size.height);
    gl.uniform1f(this.#uniforms.pointSize!, pointSize * ratio);
    gl.uniform1i(this.#uniforms.isRanked!, Number(layer.isRanked));
    gl.uniform1i(this.#uniforms.hasSelection!, Number(layer.selected.length > 0));
    gl.uniform1i(this.#uniforms.palette!, 0);
    gl.drawArrays(gl.POINTS, 0, Math.floor(count));
  }

  finish(): void {
    const { gl } = this;
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  destroy(): void {
    for (const buffer of this.#buffers) this.gl.deleteBuffer(buffer);
    this.gl.deleteProgram(this.#program);
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  #upload(layer: PointLayer): void {
    const { gl } = this;
    const drawn = this.#drawn;
    if (drawn.x !== layer.x || drawn.count !== layer.count) {
      const places = new Uint16Array(layer.count * 2);
      for (let point = 0; point < layer.count; point++) {
        places[2 * point] = layer.x[point]!;
        places[2 * point + 1] = layer.y[point]!;
      }
      this.#fill(0, places, 2, gl.UNSIGNED_SHORT, true);
    }
    if (drawn.slots !== layer.slots || drawn.selected !== layer.selected || drawn.count !== layer.count) {
      const kinds = new Uint8Array(layer.count * 4);
      for (let point = 0; point < layer.count; point++) {
        kinds[4 * point] = layer.slots[point]!;
        kinds[4 * point + 1] = layer.selected[point] ?? 0;
      }
      this.#fill(1, kinds, 4, gl.UNSIGNED_BYTE, false);
    }
    if (drawn.palette !== layer.palette)
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, layer.palette);
    this.#drawn = layer;
  }

  #fill(attribute: number, data: Uint16Array | Uint8Array, width: number, type: number, isNormalized: boolean): void {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffers[attribute]!);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(attribute);
    gl.vertexAttribPointer(attribute, width, type, isNormalized, 0, 0);
  }
}

/** Give a canvas the pixels of its size; return the pixels for one of the page. */
export function resize(canvas: HTMLCanvasElement, size: Size): number {
  const ratio = Math.min(2, devicePixelRatio || 1);
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  return ratio;
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(type)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
    throw new Error(`The map cannot be drawn: ${gl.getProgramInfoLog(program)}`);
  return program;
}
