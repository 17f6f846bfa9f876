// A fork of ioredis. Declared here, so that it need not be installed to compile this package.
declare module 'iovalkey' {
  export const Redis: new (target: string | object) => object
}
