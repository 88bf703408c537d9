"""The default encoder on OpenVINO: `encoder.OpenVinoEncoder`, and `build` for its model folder."""
