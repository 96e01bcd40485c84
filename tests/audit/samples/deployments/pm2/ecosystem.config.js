module.exports = {
  apps: [{
    script: 'app.js',
    instances: 'max',
  }],
};
